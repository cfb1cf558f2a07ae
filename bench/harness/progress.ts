/** One line on the terminal that is written over and over; in a file, a line for each step. */
export function createProgress(): { show(text: string): void; clear(): void } {
  const isTerminal = process.stderr.isTTY;
  const startedAtMs = performance.now();
  return {
    show(text) {
      const seconds = Math.round((performance.now() - startedAtMs) / 1000);
      const line = `[${seconds} s] ${text}`;
      process.stderr.write(isTerminal ? `\r\x1b[K${line}` : `${line}\n`);
    },
    clear() {
      if (isTerminal) {
        process.stderr.write('\r\x1b[K');
      }
    },
  };
}
