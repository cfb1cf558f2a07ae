/** After how many seconds a failed message is to be visible again. */
export type Backoff = (receiveCount: number, error: unknown) => number;

/**
 * Doubles with every receive up to a maximum, and takes a random part off, up to a half, so that messages that
 * failed together do not come back together.
 */
export function exponentialBackoff({
  baseSeconds = 1,
  maximumSeconds = 900,
}: {
  baseSeconds?: number;
  maximumSeconds?: number;
} = {}): Backoff {
  return (receiveCount) => {
    const ceiling = Math.min(baseSeconds * 2 ** (receiveCount - 1), maximumSeconds);
    return ceiling * (1 - Math.random() / 2);
  };
}
