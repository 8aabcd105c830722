import { describe, it, test } from 'vitest';
import { Cart, Row } from './panel';

const rows = [
  { id: 1, name: 'Nägel' },
  { id: 2, name: 'Schrauben' },
];

describe('a cart', () => {
  let cart;
  const helper = () => {
    return new Cart();
  };

  beforeEach(() => {
    cart = helper();
  });

  it('is empty', () => {
    expect(cart.size).toBe(0);
  });

  describe('with rows', function () {
    it.each(rows)('shows %s', (row) => {
      expect(render(<Row {...row} />)).toBeTruthy();
    });

    it.skip('is not ready');
  });
});

test(`stands alone`, async () => {
  await null;
});

describe('a cart', () => {
  it('is empty', () => {});
});
