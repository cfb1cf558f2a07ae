import { pathToFileURL } from 'node:url';
import type { Adapter, AdapterModule } from './adapter.ts';

/** A process for one library. It does what the benchmark asks and answers how long it took. */

export interface Task {
  what: keyof Adapter;
  count: number;
}

export type Answer = { seconds: number } | { error: string };

const [modulePath = '', connectionString = ''] = process.argv.slice(2);
const { open }: AdapterModule = await import(pathToFileURL(modulePath).href);
const adapter = await open(connectionString);

async function perform({ what, count }: Task, queue: Adapter): Promise<Answer> {
  const startedAtMs = performance.now();
  try {
    await queue[what](count);
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on('message', (task: Task) => {
  void perform(task, adapter).then((answer) => process.send?.(answer));
});
process.send?.({ seconds: 0 } satisfies Answer);
