// Copyright 2026 The Table Authors.

import * as React from 'react';

export interface Column<Row> {
  key: keyof Row & string;
  title?: React.ReactNode;
  render?: (row: Row) => React.ReactNode;
}

interface TableProps<Row> extends React.HTMLAttributes<HTMLTableElement> {
  rows: readonly Row[];
  columns: Column<Row>[];
  onSort?(column: Column<Row>, isDown: boolean): void;
}

type Sort = { key: string; isDown: boolean } | null;

const Context = React.createContext<Sort>(null);

/** Sorts rows by a column. */
function useSort<Row>(rows: readonly Row[], sort: Sort): Row[] {
  return React.useMemo(() => {
    const compare = (a: Row, b: Row): number => {
      return a === b ? 0 : 1;
    };
    return sort ? [...rows].sort(compare) : [...rows];
  }, [rows, sort]);
}

/**
 * A table that can be sorted.
 */
export function Table<Row extends { id: string }>({
  rows,
  columns,
  onSort,
  ...rest
}: TableProps<Row>): React.ReactElement {
  const [sort, setSort] = React.useState<Sort>(null);
  const sorted = useSort(rows, sort);

  const handleSort = useCallback((column: Column<Row>) => {
    setSort({ key: column.key, isDown: true });
    onSort?.(column, true);
  }, [onSort]);

  function renderCell(row: Row, column: Column<Row>) {
    return <td key={column.key}>{column.render?.(row)}</td>;
  }

  return (
    <Context.Provider value={sort}>
      <table {...rest}>
        <tbody>
          {sorted.map((row) => (
            <tr key={row.id} onClick={() => handleSort(columns[0])}>
              {columns.map((column) => renderCell(row, column))}
            </tr>
          ))}
        </tbody>
      </table>
    </Context.Provider>
  );
}

export const Heading: React.FC<{ title: string }> = ({ title }) => {
  return <h1>{title}</h1>;
};

export const Cell = React.forwardRef<HTMLTableCellElement, { value: string }>(
  function Cell({ value }, ref) {
    return <td ref={ref}>{value}</td>;
  },
);

const Spacer = <T,>(props: { of: T }) => <div />;

export class Boundary extends React.Component<{ children: React.ReactNode }, { error?: Error }> {
  state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  private retry = (): void => this.setState({ error: undefined });

  override render() {
    return this.state.error ? <button onClick={this.retry}>again</button> : this.props.children;
  }
}

export default React.memo(Table);
