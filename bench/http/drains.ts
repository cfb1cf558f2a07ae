import type { Run } from '../harness/benchmark.ts';
import { runLoad, type Throughput } from '../harness/load.ts';

interface Drains<Connection> {
  connections: readonly Connection[];
  fill(connection: Connection): Promise<number>;
  drain(connection: Connection): Promise<number>;
}

const longestDrainSeconds = 60;

/**
 * Fills a queue and drains it, again and again; only the drains are timed. The backlog is the same for all, because
 * some servers get slower the more they store. Only one that takes too long to fill has less to drain.
 */
export async function runDrains<Connection>(
  { seconds, isQuick }: Run,
  { connections, fill, drain }: Drains<Connection>,
): Promise<Pick<Throughput, 'messagesPerSecond'>> {
  const backlog = isQuick
    ? { mostMessages: 2_000, seconds: 0.2 }
    : { mostMessages: 20_000, seconds: 5 };
  let messages = 0;
  let drainSeconds = 0;
  while (drainSeconds < seconds) {
    const filled = await runLoad({ connections, ...backlog, step: fill });
    const drained = await runLoad({
      connections,
      seconds: longestDrainSeconds,
      mostMessages: filled.messages,
      step: drain,
    });
    messages += drained.messages;
    drainSeconds += drained.seconds;
  }
  return { messagesPerSecond: messages / drainSeconds };
}
