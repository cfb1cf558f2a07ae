/** The text around the placeholders `$1`, `$2`, … and the values in the order in which they appear there. */
export function splitAtPlaceholders(
  text: string,
  values: readonly unknown[],
): { parts: string[]; ordered: unknown[] } {
  const ordered: unknown[] = [];
  const parts = text.split(/\$(\d+)/).filter((part, index) => {
    const isPlaceholder = index % 2 === 1;
    if (isPlaceholder) {
      ordered.push(values[Number(part) - 1]);
    }
    return !isPlaceholder;
  });
  return { parts, ordered };
}
