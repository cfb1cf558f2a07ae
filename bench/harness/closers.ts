/** Has something closed at the end of the run, in reverse order, however the run ends. */
export type CloseAtEnd = (close: () => Promise<void>) => void;

export interface Closers {
  closeAtEnd: CloseAtEnd;
  /**
   * Closes everything, also what is added meanwhile. Answers what failed, which keeps nothing else from being closed.
   */
  closeAll(): Promise<unknown[]>;
}

export function createClosers(): Closers {
  const closers: (() => Promise<void>)[] = [];
  return {
    closeAtEnd: (close) => closers.push(close),
    async closeAll() {
      const failures: unknown[] = [];
      for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
        try {
          await close();
        } catch (error) {
          failures.push(error);
        }
      }
      return failures;
    },
  };
}
