/** Undefined: not measured. */
type Cell = string | number | undefined;

export interface Table {
  caption: string;
  columns: string[];
  rows: Cell[][];
}

function formatNumber(value: number): string {
  if (!Number.isFinite(value)) {
    return '–';
  }
  if (Number.isInteger(value) || Math.abs(value) >= 100) {
    return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ');
  }
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

function format(cell: Cell): string {
  return typeof cell === 'number' ? formatNumber(cell) : (cell ?? '–');
}

/** Text with the first column aligned to the left and the others to the right. */
export function formatTable({ caption, columns, rows }: Table): string {
  const lines = [columns, ...rows.map((row) => row.map(format))];
  const widths = columns.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const texts = lines.map((line) =>
    line
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? text.padEnd(width) : text.padStart(width);
      })
      .join('   '),
  );
  const [head = '', ...body] = texts;
  return [caption, '', head, '-'.repeat(head.length), ...body].join('\n');
}
