import { setTimeout as sleep } from 'node:timers/promises';

/** A small job that runs again and again in the background of every server. */
export interface Service {
  name: string;
  /** Answers how long to pause before the next run, in milliseconds. Called never twice at once. */
  runOnce(): Promise<number>;
}

const pauseAfterErrorMs = 5_000;

/** Runs services until they are stopped. */
export class Maintenance {
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[];

  constructor(services: readonly Service[], onError: (service: string, error: unknown) => void) {
    this.#loops = services.map((service) => this.#loop(service, onError));
  }

  /** Lets the runs in hand finish. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  async #loop(service: Service, onError: (service: string, error: unknown) => void): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let pauseMs = pauseAfterErrorMs;
      try {
        pauseMs = await service.runOnce();
      } catch (error) {
        onError(service.name, error);
      }
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
