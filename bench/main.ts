import { open, readFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { growth } from './growth/benchmark.ts';
import type { Benchmark, Run } from './harness/benchmark.ts';
import { createClosers } from './harness/closers.ts';
import { describeMachine } from './harness/machine.ts';
import { readOptions, reasonOf, UsageError } from './harness/options.ts';
import { openPostgres } from './harness/postgres.ts';
import { createProgress } from './harness/progress.ts';
import { formatTable } from './harness/table.ts';
import { horizon } from './horizon.ts';
import { http } from './http/benchmark.ts';
import { latency } from './latency.ts';
import { library } from './library/benchmark.ts';
import { soak } from './soak.ts';
import { sql } from './sql/benchmark.ts';

/** Runs one benchmark: database, measurements, table; and everything closed in reverse at the end. */

const benchmarks: Record<string, Benchmark> = {
  http,
  sql,
  library,
  latency,
  growth,
  horizon,
  soak,
};

const usage = `Usage: npm run bench -- ${Object.keys(benchmarks).join('|')} [--seconds N] [--json FILE] [--pgmq FILE] [--quick]`;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A signal: the run ends without a word, with the exit code that shells give it. */
class Interruption extends Error {
  readonly exitCode: number;

  constructor(signalNumber: number) {
    super();
    this.exitCode = 128 + signalNumber;
  }
}

/** Rejects when the run cannot go on for a reason that nothing waits for. A signal during the clean-up is ignored. */
const cutShort = new Promise<never>((_, reject) => {
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => reject(new Interruption(constants.signals[signal])));
  }
  // Such as a reader of standard output that is gone. PostgreSQL would outlive this process.
  process.on('uncaughtException', reject);
});

const progress = createProgress();
const { closeAtEnd, closeAll } = createClosers();

/** @throws {UsageError} in one line, when it fails */
async function attempt<Result>(what: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw new UsageError(`Cannot ${what}: ${reasonOf(error)}`);
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), Object.keys(benchmarks), usage);
  const benchmark = benchmarks[options?.name ?? ''];
  if (options === undefined || benchmark === undefined) {
    say(usage);
    return;
  }
  // Found out before the run, not after it.
  const pgmq =
    options.pgmqFile &&
    (await attempt(`read ${options.pgmqFile}`, readFile(options.pgmqFile, 'utf8')));
  const jsonFile =
    options.jsonFile && (await attempt(`write ${options.jsonFile}`, open(options.jsonFile, 'w')));
  progress.show('Starting PostgreSQL');
  const postgres = await openPostgres(closeAtEnd);
  const machine = await describeMachine(postgres, options.pgmqFile);
  progress.clear();
  say(
    `Benchmark ${options.name}\n${Object.entries(machine)
      .map(([what, value]) => `${what}: ${value}`)
      .join('\n')}\n`,
  );

  const run: Run = {
    seconds: options.seconds ?? (options.isQuick ? benchmark.quickSeconds : benchmark.seconds),
    rounds: options.isQuick ? 3 : 5,
    isQuick: options.isQuick,
    pgmq,
    postgres,
    progress: progress.show,
    closeAtEnd,
  };
  const report = await benchmark.run(run);
  progress.clear();
  for (const table of report.tables) {
    say(`${formatTable(table)}\n`);
  }
  for (const note of report.notes ?? []) {
    say(note);
  }
  if (options.isQuick) {
    say('A quick run shows that the benchmark works. Its figures are too noisy to compare.');
  }
  if (jsonFile) {
    const { tables, notes = [], comparisons = [] } = report;
    const rounds = comparisons.map((comparison) => comparison.rounds());
    const content = { benchmark: options.name, options, machine, tables, notes, rounds };
    await jsonFile.writeFile(`${JSON.stringify(content, null, 2)}\n`);
  }
}

function fail(error: unknown): void {
  progress.clear();
  if (error instanceof Interruption) {
    process.exitCode = error.exitCode;
    return;
  }
  process.exitCode = 1;
  process.stderr.write(
    `${error instanceof UsageError ? error.message : error instanceof Error ? error.stack : error}\n`,
  );
}

try {
  await Promise.race([main(), cutShort]);
} catch (error) {
  fail(error);
}
for (const error of await closeAll()) {
  if (process.exitCode === undefined) {
    fail(error);
  }
}
// What an interrupted run still waits for would keep the process alive.
process.exit();
