import React, { memo, forwardRef } from 'react';

const styles = {
  row: { padding: 4 },
};

/** One row. */
export const Row = memo(function Row({ name, onPick }) {
  const pick = () => {
    onPick(name);
  };
  return (
    <li onClick={pick} style={styles.row}>
      {name}
    </li>
  );
});

export const Field = React.memo(
  forwardRef((props, ref) => {
    return <input ref={ref} {...props} />;
  }),
);

const Empty = () => <p>Nothing here</p>;

export const Panel = ({ rows, children }) => (
  <section>
    {rows.map((row) => (
      <Row key={row.id} {...row} />
    ))}
    {children ?? <Empty />}
  </section>
);

class Legacy extends React.Component {
  state = { open: false };

  static defaultProps = {
    title: 'A panel that is so old that nobody remembers why it is here',
    open: true,
  };

  toggle = () => this.setState({ open: !this.state.open });

  render() {
    return <div onClick={this.toggle}>{this.props.title}</div>;
  }
}

export default function () {
  return <Panel rows={[]} />;
}
