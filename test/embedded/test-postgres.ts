import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished, vi } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded/index.ts';

// A start takes half a second, and several times that on a busy machine.
vi.setConfig({ testTimeout: 30_000 });

interface TestPostgres extends EmbeddedPostgres {
  /** What it logged so far. */
  messages: string[];
}

/** Starts the embedded PostgreSQL without waiting for disks, and stops it after the test. */
export async function startTestPostgres(
  dataDirectory: string,
  settings: Record<string, string> = {},
): Promise<TestPostgres> {
  const messages: string[] = [];
  const postgres = await startEmbeddedPostgres({
    dataDirectory,
    log: (message) => messages.push(message),
    settings: { fsync: 'off', ...settings },
  });
  onTestFinished(() => postgres.stop());
  return { ...postgres, messages };
}

/** The rows of one statement, on a connection of its own, as arrays. */
export async function query(connectionString: string, statement: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    const result = await client.query<unknown[]>({ text: statement, rowMode: 'array' });
    return result.rows;
  } finally {
    await client.end();
  }
}

export async function readPostmasterPid(dataDirectory: string): Promise<number> {
  return Number.parseInt(
    await readFile(join(dataDirectory, 'postgresql', 'postmaster.pid'), 'utf8'),
    10,
  );
}
