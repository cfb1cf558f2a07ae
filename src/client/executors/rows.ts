/** The rows in what a driver answered: an object that has rows, or the rows themselves. */
export function rowsOf(answer: unknown): Record<string, unknown>[] {
  const rows =
    typeof answer === 'object' && answer !== null && 'rows' in answer ? answer.rows : answer;
  if (!Array.isArray(rows)) {
    throw new TypeError('The database driver answered no rows. Is its adapter the right one?');
  }
  return rows;
}
