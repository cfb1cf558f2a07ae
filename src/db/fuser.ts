/**
 * Carries the work of many callers in one statement.
 *
 * While a statement is running, what arrives for the same key gathers and goes with the next one. On an idle
 * server a request goes at once and alone, so fusing adds no waiting; under load the cost of a round trip, a
 * plan and a commit is shared by all that came in the meantime. When the next statement has a full load, or the one
 * that runs takes long, behind a slow disk or somebody's lock, then the next goes beside it. A caller is answered
 * only after the statement that carried its work has committed.
 */
export interface FuserOptions<Item, Result> {
  /** One statement for all items; the results are in their order. */
  run(key: string, items: readonly Item[], isAlone: boolean): Promise<Result[]>;
  /** How much of a statement's capacity an item takes. */
  weigh(item: Item): number;
  /** Capacity of one statement. An item that is heavier goes alone. */
  statementCapacity: number;
  /** Statements of one key at once, so that no key takes the whole pool. */
  statementsPerKey: number;
  /** How long a statement may take before the next goes beside it, full or not. */
  slowAfterMs: number;
  /** Weight of all that may gather; beyond it callers are turned away. One key may have three quarters of it. */
  gatheringCapacity: number;
  /** The error for callers that are turned away. */
  turnAway(): Error;
  /** Whether an error is about some item only: then each caller's work is run again alone, in turn with what comes after. */
  isItemError(error: unknown): boolean;
}

interface Submission<Item, Result> {
  items: readonly Item[];
  isAlone: boolean;
  weight: number;
  resolve(results: Result[]): void;
  reject(error: unknown): void;
}

interface Lane<Item, Result> {
  running: number;
  lastStartedAtMs: number;
  gathered: Submission<Item, Result>[];
  gatheredWeight: number;
  slowTimer: NodeJS.Timeout | undefined;
}

export class Fuser<Item, Result> {
  readonly #options: FuserOptions<Item, Result>;
  readonly #lanes = new Map<string, Lane<Item, Result>>();
  #gatheredWeight = 0;

  constructor(options: FuserOptions<Item, Result>) {
    this.#options = options;
  }

  /** The results of one caller's items, in order; they stay together in one statement. */
  submit(key: string, items: readonly Item[]): Promise<Result[]> {
    return this.#gather(key, items, false);
  }

  /** The same in a statement of their own. */
  submitAlone(key: string, items: readonly Item[]): Promise<Result[]> {
    return this.#gather(key, items, true);
  }

  #gather(key: string, items: readonly Item[], isAlone: boolean): Promise<Result[]> {
    const weight = items.reduce((total, item) => total + this.#options.weigh(item), 0);
    const lane = this.#lanes.get(key) ?? {
      running: 0,
      lastStartedAtMs: 0,
      gathered: [],
      gatheredWeight: 0,
      slowTimer: undefined,
    };
    const { gatheringCapacity } = this.#options;
    if (
      this.#gatheredWeight + weight > gatheringCapacity ||
      lane.gatheredWeight + weight > gatheringCapacity * 0.75
    ) {
      return Promise.reject(this.#options.turnAway());
    }
    return new Promise((resolve, reject) => {
      this.#lanes.set(key, lane);
      lane.gathered.push({ items, isAlone, weight, resolve, reject });
      lane.gatheredWeight += weight;
      this.#gatheredWeight += weight;
      this.#start(key, lane);
    });
  }

  #start(key: string, lane: Lane<Item, Result>): void {
    while (lane.gathered.length > 0 && this.#mayStart(lane)) {
      const load = this.#takeLoad(lane);
      lane.running += 1;
      lane.lastStartedAtMs = performance.now();
      void this.#carry(key, load).finally(() => {
        lane.running -= 1;
        this.#start(key, lane);
        if (lane.running === 0) {
          clearTimeout(lane.slowTimer);
          this.#lanes.delete(key);
        }
      });
    }
    if (lane.gathered.length > 0 && lane.running < this.#options.statementsPerKey) {
      lane.slowTimer ??= setTimeout(() => {
        lane.slowTimer = undefined;
        this.#start(key, lane);
      }, this.#options.slowAfterMs);
    }
  }

  /** Two statements at once would only halve what each carries, unless there is enough for two or the first takes long. */
  #mayStart({ running, lastStartedAtMs, gatheredWeight }: Lane<Item, Result>): boolean {
    const { statementsPerKey, statementCapacity, slowAfterMs } = this.#options;
    return (
      running === 0 ||
      (running < statementsPerKey &&
        (gatheredWeight >= statementCapacity || performance.now() - lastStartedAtMs >= slowAfterMs))
    );
  }

  /** What the next statement takes: from the front, as much as fits, at least one. */
  #takeLoad(lane: Lane<Item, Result>): Submission<Item, Result>[] {
    let weight = 0;
    let count = 0;
    for (const submission of lane.gathered) {
      const fits = weight + submission.weight <= this.#options.statementCapacity;
      if (count > 0 && (submission.isAlone || !fits)) {
        break;
      }
      weight += submission.weight;
      count += 1;
      if (submission.isAlone) {
        break;
      }
    }
    lane.gatheredWeight -= weight;
    this.#gatheredWeight -= weight;
    return lane.gathered.splice(0, count);
  }

  async #carry(key: string, load: readonly Submission<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.run(
        key,
        load.flatMap(({ items }) => items),
        load.some(({ isAlone }) => isAlone),
      );
      let position = 0;
      for (const { items, resolve } of load) {
        resolve(results.slice(position, position + items.length));
        position += items.length;
      }
    } catch (error) {
      if (load.length > 1 && this.#options.isItemError(error)) {
        for (const { items, resolve, reject } of load) {
          this.submitAlone(key, items).then(resolve, reject);
        }
        return;
      }
      for (const { reject } of load) {
        reject(error);
      }
    }
  }
}
