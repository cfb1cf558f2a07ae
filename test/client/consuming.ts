import { onTestFinished } from 'vitest';
import { Consumer, type ConsumerEvents, type ConsumerOptions } from '../../src/client/index.ts';

/** A consumer that is started, stopped after the test, and writes down what happened. */
export interface RunningConsumer {
  consumer: Consumer<never>;
  /** Names of events with the bodies of their messages, such as `failed a`. */
  history: string[];
  errors: unknown[];
  /** Resolves when an entry is in the history, also when it was there before. */
  saw(entry: string): Promise<void>;
}

const messageEvents = ['handled', 'failed', 'deleted', 'released', 'stale'] as const;

export function startConsumer<Transaction>(
  options: ConsumerOptions<Transaction>,
): RunningConsumer & { consumer: Consumer<Transaction> } {
  const consumer = new Consumer<Transaction>({
    waitTimeSeconds: 1,
    backoff: () => 0,
    stopTimeoutMs: 0,
    ...options,
  });
  const history: string[] = [];
  const errors: unknown[] = [];
  const watchers: { entry: string; resolve: () => void }[] = [];
  const note = (entry: string) => {
    history.push(entry);
    for (const watcher of watchers) {
      if (watcher.entry === entry) {
        watcher.resolve();
      }
    }
  };
  for (const event of messageEvents) {
    consumer.on(event, (...[message]: ConsumerEvents[typeof event]) => {
      note(`${event} ${message.body}`);
    });
  }
  consumer.on('error', (error) => errors.push(error));
  consumer.start();
  onTestFinished(() => consumer.stop());
  return {
    consumer: consumer as Consumer<Transaction> & Consumer<never>,
    history,
    errors,
    saw: (entry) =>
      new Promise((resolve) => {
        if (history.includes(entry)) {
          resolve();
        } else {
          watchers.push({ entry, resolve });
        }
      }),
  };
}

/** A promise and the function that resolves it. */
export function gate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
