import { median } from './statistics.ts';
import type { Table } from './table.ts';

/**
 * Figures of several contenders for the same tasks, from rounds in which each had its turn. Medians are
 * compared; a ratio above one says that ours is the larger.
 */
export class Comparison {
  readonly #caption: string;
  readonly #ours: string;
  readonly #figures = new Map<string, Map<string, number[]>>();
  readonly #contenders: string[];

  constructor(caption: string, ours: string, others: readonly string[]) {
    this.#caption = caption;
    this.#ours = ours;
    this.#contenders = [ours, ...others];
  }

  record(task: string, contender: string, figure: number): void {
    const ofTask = this.#figures.get(task) ?? new Map<string, number[]>();
    this.#figures.set(task, ofTask);
    ofTask.set(contender, [...(ofTask.get(contender) ?? []), figure]);
  }

  table(): Table {
    const others = this.#contenders.slice(1);
    return {
      caption: this.#caption,
      columns: ['', this.#ours, ...others.flatMap((other) => [other, 'ratio'])],
      rows: [...this.#figures].map(([task, figures]) => {
        const figureOf = (contender: string) => {
          const rounds = figures.get(contender);
          return rounds && median(rounds);
        };
        const ours = figureOf(this.#ours);
        return [
          task,
          ours,
          ...others.flatMap((other) => {
            const theirs = figureOf(other);
            return [theirs, ours && theirs && ours / theirs];
          }),
        ];
      }),
    };
  }

  /** Every figure, for the JSON file. */
  rounds(): Record<string, Record<string, number[]>> {
    return Object.fromEntries(
      [...this.#figures].map(([task, figures]) => [task, Object.fromEntries(figures)]),
    );
  }
}
