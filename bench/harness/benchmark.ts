import type { CloseAtEnd } from './closers.ts';
import type { Comparison } from './comparison.ts';
import type { PostgresServer } from './postgres.ts';
import type { Table } from './table.ts';

/** What a benchmark works with. */
export interface Run {
  /** Of one measurement, or of the whole run where the benchmark says so. */
  seconds: number;
  rounds: number;
  isQuick: boolean;
  /** The SQL that installs pgmq, to compare with it. */
  pgmq: string | undefined;
  postgres: PostgresServer;
  /** Shows what is being done, in place of what it showed before. */
  progress(text: string): void;
  closeAtEnd: CloseAtEnd;
}

interface Report {
  tables: Table[];
  /** Sentences below the tables. */
  notes?: string[];
  comparisons?: Comparison[];
}

export interface Benchmark {
  seconds: number;
  quickSeconds: number;
  run(run: Run): Promise<Report>;
}
