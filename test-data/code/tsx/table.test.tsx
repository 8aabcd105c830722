import { render, screen } from '@testing-library/react';
import Table, { Heading } from './table';

const COLUMNS = [{ key: 'name' as const, title: 'Имя' }];

interface Person { id: string; name: string }

function setup(people: Person[] = []) {
  return render(<Table rows={people} columns={COLUMNS} />);
}

describe('Table', () => {
  const person = (name: string): Person => ({ id: name, name });

  it('shows a row for each person', async () => {
    setup([person('Ida'), person('Юрий')]);
    expect(await screen.findAllByRole('row')).toHaveLength(2);
  });

  it('shows no row', () => {
    setup();
  });
});

describe('Heading', () => {
  test('has a title', () => {
    render(<Heading title="x" />);
  });
});
