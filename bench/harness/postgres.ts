import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/index.ts';
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
  stop(): Promise<void>;
}

interface Underlying {
  description: string;
  url: string;
  stop(): Promise<void>;
}

async function startOwn(): Promise<Underlying> {
  await mkdir(storesDirectory, { recursive: true });
  const dataDirectory = await mkdtemp(join(storesDirectory, 'bench-'));
  const embedded = await startEmbeddedPostgres({ dataDirectory, log: () => {} });
  return {
    description: 'embedded',
    url: embedded.connectionString,
    async stop() {
      await embedded.stop();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}

/** BENCH_DATABASE_URL, whose role may create databases, or else an embedded PostgreSQL with its defaults. */
export async function openPostgres(): Promise<PostgresServer> {
  const given = process.env['BENCH_DATABASE_URL'];
  const underlying = given
    ? { description: 'BENCH_DATABASE_URL', url: given, stop: async () => {} }
    : await startOwn();
  const administration = new Client({ connectionString: underlying.url });
  await administration.connect();
  const { rows } = await administration.query<{ version: string; is_durable: boolean }>(
    `select
      current_setting('server_version') as version,
      current_setting('fsync') = 'on' and current_setting('synchronous_commit') <> 'off' as is_durable`,
  );
  const names: string[] = [];

  async function create(purpose: string, source: string): Promise<string> {
    const name = `trunkline_bench_${process.pid}_${purpose}`;
    await administration.query(`create database ${name} template ${source}`);
    names.push(name);
    const url = new URL(underlying.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async function stop(): Promise<void> {
    for (const name of names.splice(0).reverse()) {
      await administration.query(`drop database ${name} with (force)`);
    }
    await administration.end();
    await underlying.stop();
  }

  const template = `trunkline_bench_${process.pid}_template`;
  try {
    // A server sets up the schema when it starts.
    const server = await startTrunkline(await create('template', 'template0'));
    await server.stop();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    description: `${rows[0]?.version} (${underlying.description})`,
    isDurable: rows[0]?.is_durable === true,
    createDatabase: (purpose) => create(purpose, template),
    stop,
  };
}

/** A connected client that is ended at the end of a run. */
export async function openClient(
  connectionString: string,
  closeAtEnd: (close: () => Promise<void>) => void,
): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  closeAtEnd(() => client.end());
  return client;
}
