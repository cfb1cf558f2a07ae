import type { Delivery } from './delivery.ts';

/**
 * Takes the deliveries behind the one at work in its lane, so that they are given back with it.
 */
export type TakeLater = () => Delivery[];

/**
 * Works on deliveries side by side, and on those of one FIFO message group one after another, in the order of
 * their receive.
 */
export class Lanes {
  readonly #work: (delivery: Delivery, takeLater: TakeLater) => Promise<void>;
  readonly #lanes = new Map<string | symbol, Delivery[]>();
  readonly #watchers: (() => void)[] = [];

  /** @param work must not reject */
  constructor(work: (delivery: Delivery, takeLater: TakeLater) => Promise<void>) {
    this.#work = work;
  }

  /** Lanes at work. */
  get size(): number {
    return this.#lanes.size;
  }

  add(delivery: Delivery): void {
    const key = laneOf(delivery);
    const lane = this.#lanes.get(key);
    if (lane !== undefined) {
      lane.push(delivery);
      return;
    }
    const deliveries = [delivery];
    this.#lanes.set(key, deliveries);
    void this.#run(key, deliveries);
  }

  /** Removes all deliveries that are not at work yet. */
  takeWaiting(): Delivery[] {
    const waiting = [...this.#lanes.values()].flatMap((lane) => lane.splice(0));
    this.#announceChange();
    return waiting;
  }

  /** Resolves when a lane ends, or waiting deliveries were taken. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  async #run(key: string | symbol, lane: Delivery[]): Promise<void> {
    for (let delivery = lane.shift(); delivery !== undefined; delivery = lane.shift()) {
      await this.#work(delivery, () => lane.splice(0));
    }
    this.#lanes.delete(key);
    this.#announceChange();
  }

  #announceChange(): void {
    for (const resolve of this.#watchers.splice(0)) {
      resolve();
    }
  }
}

/** Standard queues may have group ids too, which say nothing about order there; only FIFO queues number. */
function laneOf({ message }: Delivery): string | symbol {
  const { sequenceNumber, messageGroupId } = message;
  return sequenceNumber !== undefined && messageGroupId !== undefined ? messageGroupId : Symbol();
}
