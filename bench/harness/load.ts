/** What several connections got done together. */
export interface Throughput {
  messages: number;
  seconds: number;
  messagesPerSecond: number;
  /** Processor time of this process, the load generator, per message in microseconds. */
  generatorMicroseconds: number;
}

export interface Load<Connection> {
  connections: readonly Connection[];
  seconds: number;
  /** After so many messages there is nothing left to do. */
  mostMessages?: number;
  /** One piece of work; answers how many messages it took along. */
  step(connection: Connection): Promise<number>;
}

/** Has every connection work, one step after the other, until the time is up or the work is done. */
export async function runLoad<Connection>(load: Load<Connection>): Promise<Throughput> {
  const { connections, mostMessages = Number.POSITIVE_INFINITY, step } = load;
  let messages = 0;
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const deadlineMs = startedAtMs + load.seconds * 1000;
  await Promise.all(
    connections.map(async (connection) => {
      while (messages < mostMessages && performance.now() < deadlineMs) {
        // Not in one: the sum would be read before the step, and what others add meanwhile lost.
        const count = await step(connection);
        messages += count;
      }
    }),
  );
  const seconds = (performance.now() - startedAtMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    messages,
    seconds,
    messagesPerSecond: messages / seconds,
    generatorMicroseconds: (cpu.user + cpu.system) / Math.max(messages, 1),
  };
}

/** What all benchmarks send: a body of 256 bytes. */
export const messageBody = 'abcdefghijklmnop'.repeat(16);
