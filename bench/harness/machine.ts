import { execFile } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { nodeOfPrograms } from './node.ts';
import type { PostgresServer } from './postgres.ts';

/** What a figure is worth nothing without. */
export async function describeMachine(postgres: PostgresServer): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(nodeOfPrograms, ['--version']);
  return {
    Date: new Date().toISOString(),
    Machine: `${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    'Node.js': `${stdout.trim()} for what is measured, ${process.version} for the load generator`,
    PostgreSQL: postgres.description,
    Commits: postgres.isDurable
      ? 'durable (fsync and synchronous_commit are on)'
      : 'NOT DURABLE: fsync or synchronous_commit is off',
  };
}
