import { writeFile } from 'node:fs/promises';
import { growth } from './growth/benchmark.ts';
import type { Benchmark, Run } from './harness/benchmark.ts';
import { describeMachine } from './harness/machine.ts';
import { readOptions, UsageError } from './harness/options.ts';
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

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const closers: (() => Promise<void>)[] = [];

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) {
    await close();
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), Object.keys(benchmarks));
  const benchmark = benchmarks[options.name];
  if (benchmark === undefined) {
    return;
  }
  const progress = createProgress();
  progress.show('Starting PostgreSQL');
  const postgres = await openPostgres();
  closers.push(() => postgres.stop());
  const machine = await describeMachine(postgres);
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
    pgmqFile: options.pgmqFile,
    postgres,
    progress: progress.show,
    closeAtEnd: (close) => closers.push(close),
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
  if (options.jsonFile !== undefined) {
    const { tables, notes = [], comparisons = [] } = report;
    const rounds = comparisons.map((comparison) => comparison.rounds());
    const content = { benchmark: options.name, options, machine, tables, notes, rounds };
    await writeFile(options.jsonFile, `${JSON.stringify(content, null, 2)}\n`);
  }
}

process.once('SIGINT', () => {
  void closeAll().finally(() => process.exit(130));
});

try {
  await main();
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(
    `${error instanceof UsageError ? error.message : error instanceof Error ? error.stack : error}\n`,
  );
} finally {
  await closeAll();
}
