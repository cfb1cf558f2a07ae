import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import { Client, type Pool } from 'pg';
import { version } from '../version.ts';

/**
 * Brings the schema `trunkline` up to this version: numbered migrations first, then every function file
 * whose text changed, all in one transaction.
 */

const migrationsDirectory = fileURLToPath(new URL('../../migrations', import.meta.url));
const functionsDirectory = `${migrationsDirectory}/functions`;

/** Any number that nobody else uses: "trunkline" in ASCII, cut to 63 bits. */
const migrationLock = '8390062851155749990';

const oldestPostgres = 150_000;

/** The schema cannot be brought up to date. The message says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface FunctionFile {
  name: string;
  text: string;
  checksum: string;
}

async function readMigrationNames(): Promise<string[]> {
  const files = await readdir(migrationsDirectory);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort();
}

async function readFunctionFiles(): Promise<FunctionFile[]> {
  const files = (await readdir(functionsDirectory)).filter((file) => file.endsWith('.sql')).sort();
  return await Promise.all(
    files.map(async (file) => {
      const text = await readFile(`${functionsDirectory}/${file}`, 'utf8');
      const checksum = createHash('sha256').update(text).digest('hex');
      return { name: file.replace(/\.sql$/, ''), text, checksum };
    }),
  );
}

interface InstalledSchema {
  migrations: string[];
  functions: Map<string, string>;
  /** Of the functions; undefined before the first installation. */
  version: string | undefined;
}

async function readInstalled(client: Client): Promise<InstalledSchema> {
  const { rows: found } = await client.query<{ has_migrations: boolean; has_functions: boolean }>(
    `select
      to_regclass('trunkline.schema_migrations') is not null as has_migrations,
      to_regclass('trunkline.installed_functions') is not null as has_functions`,
  );
  const migrations = found[0]?.has_migrations
    ? await client.query<{ name: string }>('select name from trunkline.schema_migrations')
    : { rows: [] };
  const functions = found[0]?.has_functions
    ? await client.query<{ name: string; checksum: string; installed_by: string }>(
        'select name, checksum, installed_by from trunkline.installed_functions',
      )
    : { rows: [] };
  return {
    migrations: migrations.rows.map((row) => row.name),
    functions: new Map(functions.rows.map((row) => [row.name, row.checksum])),
    version: functions.rows
      .map((row) => row.installed_by)
      .sort(compareVersions)
      .at(-1),
  };
}

function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function refuseNewer(installed: InstalledSchema, known: readonly string[]): void {
  const unknown = installed.migrations.find((name) => !known.includes(name));
  const isNewer =
    installed.version !== undefined && compareVersions(installed.version, version) > 0;
  if (unknown !== undefined || isNewer) {
    throw new MigrationError(
      `The database's schema is newer than this Trunkline ${version}: it was brought up to date by ${installed.version ?? 'a later version'}${unknown === undefined ? '' : ` and has the migration ${unknown}`}. Start that version or a later one.`,
    );
  }
}

async function refuseUnfit(client: Client, log: (message: string) => void): Promise<void> {
  const { rows } = await client.query<Record<'number' | 'name' | 'encoding' | 'read_only', string>>(
    `select
      current_setting('server_version_num') as number,
      current_setting('server_version') as name,
      current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only') as read_only`,
  );
  const [server] = rows;
  if (Number(server?.number) < oldestPostgres) {
    throw new MigrationError(
      `The database runs PostgreSQL ${server?.name}. Trunkline needs PostgreSQL 15 or later.`,
    );
  }
  if (server?.encoding !== 'UTF8' && server?.encoding !== 'SQL_ASCII') {
    throw new MigrationError(
      `The database has the encoding ${server?.encoding}, in which not every message can be stored. Use one with the encoding UTF8.`,
    );
  }
  if (server.encoding === 'SQL_ASCII') {
    log(
      'The database has the encoding SQL_ASCII. Better use one with UTF8: the SQL functions cannot check characters in this one.',
    );
  }
  if (server.read_only === 'on') {
    throw new MigrationError(
      'The database takes no changes: it is a standby, or set to read only. Set DATABASE_URL to the primary.',
    );
  }
}

/**
 * A client for node-pg-migrate that leaves the transaction to its caller. node-pg-migrate would commit when the
 * migrations are through, and until their functions are installed programs would meet new tables with old functions.
 */
function withoutTransactions(client: Client): Client {
  const query = (...parameters: unknown[]) =>
    /^(begin|commit|rollback)$/i.test(String(parameters[0]))
      ? Promise.resolve({ rows: [] })
      : Reflect.apply(client.query, client, parameters);
  return Object.create(client, { query: { value: query } });
}

async function runMigrations(client: Client, log: (message: string) => void): Promise<void> {
  // Where it exists it takes no right to create schemas to go on, but `create schema if not exists` would.
  const { rows } = await client.query(`select from pg_namespace where nspname = 'trunkline'`);
  const hasSchema = rows.length > 0;
  const say = (message: string) => log(message.replace(/^[> -]+/, ''));
  await runner({
    dbClient: withoutTransactions(client),
    dir: migrationsDirectory,
    direction: 'up',
    singleTransaction: true,
    migrationsSchema: 'trunkline',
    createMigrationsSchema: !hasSchema,
    migrationsTable: 'schema_migrations',
    // This module holds a lock of its own, which waits where node-pg-migrate's would fail.
    noLock: true,
    // node-pg-migrate expects timestamps in front of file names and complains of each number.
    logger: { debug: () => {}, info: () => {}, warn: say, error: () => {} },
  });
}

async function installFunctions(client: Client, files: readonly FunctionFile[]): Promise<void> {
  // Functions call each other in any order.
  await client.query(`set local check_function_bodies = off`);
  await client.query(`set local lock_timeout = '10s'`);
  // What a role may put into other schemas is not found by name while functions are made.
  await client.query('set local search_path = pg_catalog, pg_temp');
  for (const { name, text, checksum } of files) {
    await client.query(text);
    await client.query(
      `insert into trunkline.installed_functions as installed (name, checksum, installed_by)
      values ($1, $2, $3)
      on conflict (name) do update
      set checksum = excluded.checksum,
          installed_by = excluded.installed_by,
          installed_at = clock_timestamp()`,
      [name, checksum, version],
    );
  }
  await client.query(await readFile(`${migrationsDirectory}/access/roles.sql`, 'utf8'));
}

async function bringUpToDate(client: Client, log: (message: string) => void): Promise<void> {
  await refuseUnfit(client, log);
  const known = await readMigrationNames();
  const installed = await readInstalled(client);
  refuseNewer(installed, known);
  const isMigrationDue = known.some((name) => !installed.migrations.includes(name));
  const changed = (await readFunctionFiles()).filter(
    ({ name, checksum }) => installed.functions.get(name) !== checksum,
  );

  await client.query('begin');
  try {
    // Each step only where something is to do, so that a role without the right to create anything can
    // start a server on a schema that is up to date.
    if (isMigrationDue) {
      await runMigrations(client, log);
    }
    if (changed.length > 0) {
      await installFunctions(client, changed);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
  if (changed.length > 0) {
    log(`Installed ${changed.length} functions of Trunkline ${version}.`);
  }
}

/**
 * Migrates the database. Any number of servers may do so at once: they take turns.
 *
 * The lock is a transaction's, on a connection of its own, because a session's lock would not hold behind
 * PgBouncer in transaction mode.
 *
 * @throws {MigrationError} or the database's error
 */
export async function migrate(
  connectionString: string,
  log: (message: string) => void = () => {},
): Promise<void> {
  const lockHolder = new Client({ connectionString, application_name: 'trunkline migration lock' });
  const client = new Client({ connectionString, application_name: 'trunkline migration' });
  try {
    await lockHolder.connect();
    await client.connect();
    await lockHolder.query('begin');
    await lockHolder.query('set local idle_in_transaction_session_timeout = 0');
    await lockHolder.query('select pg_advisory_xact_lock($1)', [migrationLock]);
    await bringUpToDate(client, log);
    await lockHolder.query('commit');
  } finally {
    await Promise.allSettled([client.end(), lockHolder.end()]);
  }
}

/** Why a server cannot do its work on this database, for the health check; undefined when it can. */
export async function reasonAgainstUse(pool: Pool): Promise<string | undefined> {
  const known = await readMigrationNames();
  const { rows } = await pool.query<{ is_read_only: boolean; migrations: string[] }>(
    `select
      current_setting('transaction_read_only')::boolean as is_read_only,
      array(select name from trunkline.schema_migrations) as migrations`,
  );
  const [found] = rows;
  if (found?.is_read_only) {
    return 'The database takes no changes: it is a standby, or set to read only.';
  }
  return known.every((name) => found?.migrations.includes(name))
    ? undefined
    : 'The database schema is not up to date. Restart this server to migrate it.';
}
