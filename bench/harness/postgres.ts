import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/index.ts';
import type { CloseAtEnd } from './closers.ts';
import { reasonOf, UsageError } from './options.ts';
import { storesDirectory } from './paths.ts';
import { startTrunkline } from './trunkline-server.ts';

/** One PostgreSQL for a whole run. Every benchmark has databases of its own in it. */
export interface PostgresServer {
  /** The version, and where it runs. */
  description: string;
  /** Whether a commit is on disk before it is answered, as the settings say. */
  isDurable: boolean;
  /** A new database with Trunkline's schema; answers its URL. */
  createDatabase(purpose: string): Promise<string>;
}

/** Stopped at the end of the run, also when that comes before it has started; nothing of it is left then. */
async function startOwn(closeAtEnd: CloseAtEnd): Promise<string> {
  await mkdir(storesDirectory, { recursive: true });
  const dataDirectory = await mkdtemp(join(storesDirectory, 'bench-'));
  const ending = new AbortController();
  const starting = startEmbeddedPostgres({ dataDirectory, log: () => {}, signal: ending.signal });
  closeAtEnd(async () => {
    ending.abort();
    const embedded = await starting.catch(() => undefined);
    await embedded?.stop();
    // Where root keeps what is in a directory that is closed to others: src/embedded/data-home.ts.
    const relocated = await realpath(join(dataDirectory, 'relocated-to')).catch(() => undefined);
    for (const directory of [relocated, dataDirectory]) {
      if (directory !== undefined) {
        await rm(directory, { recursive: true, force: true });
      }
    }
  });
  return (await starting).connectionString;
}

/** BENCH_DATABASE_URL, whose role may create databases, or else an embedded PostgreSQL with its defaults. */
export async function openPostgres(closeAtEnd: CloseAtEnd): Promise<PostgresServer> {
  const given = process.env['BENCH_DATABASE_URL'];
  if (!given) {
    return await prepare(await startOwn(closeAtEnd), 'embedded', closeAtEnd);
  }
  try {
    return await prepare(given, 'BENCH_DATABASE_URL', closeAtEnd);
  } catch (error) {
    throw new UsageError(`BENCH_DATABASE_URL cannot be used: ${reasonOf(error)}`);
  }
}

async function prepare(
  serverUrl: string,
  origin: string,
  closeAtEnd: CloseAtEnd,
): Promise<PostgresServer> {
  const administration = await openClient(serverUrl, closeAtEnd);
  const { rows } = await administration.query<{ version: string; is_durable: boolean }>(
    `select
      current_setting('server_version') as version,
      current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as is_durable`,
  );

  async function create(purpose: string, source: string): Promise<string> {
    const name = `trunkline_bench_${process.pid}_${purpose}`;
    closeAtEnd(async () => {
      await administration.query(`drop database if exists ${name} with (force)`);
    });
    await administration.query(`create database ${name} template ${source}`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return url.href;
  }

  // A server sets up the schema when it starts.
  const server = await startTrunkline(await create('template', 'template0'), closeAtEnd);
  await server.stop();
  return {
    description: `${rows[0]?.version} (${origin})`,
    isDurable: rows[0]?.is_durable === true,
    createDatabase: (purpose) => create(purpose, `trunkline_bench_${process.pid}_template`),
  };
}

/** A connected client that is ended at the end of a run. */
export async function openClient(
  connectionString: string,
  closeAtEnd: CloseAtEnd,
): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  closeAtEnd(() => client.end());
  return client;
}
