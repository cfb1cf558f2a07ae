import closeWithGrace from 'close-with-grace';
import { type Config, ConfigError, readConfig } from './config.ts';
import { ConnectionError, waitForDatabase } from './db/connect.ts';
import { MigrationError, migrate } from './db/migrate.ts';
import { EmbeddedPostgresError, startEmbeddedPostgres } from './embedded/index.ts';
import { startServer } from './server.ts';
import { isWorker, reportListening, startWorkers, WorkerStartError } from './workers.ts';

/**
 * Composition root: settings, database, schema, server; and the same in reverse at the end. With several workers
 * each of them runs this file too, for the server alone.
 */

/** What a person reads; the log proper is the server's. */
function say(message: string): void {
  process.stdout.write(`${message}\n`);
}

/** After this the process ends whatever is still under way; `docker stop` kills after ten seconds. */
const shutdownLimitMs = 9_000;

/** Of that, what workers leave for the embedded PostgreSQL. */
const databaseStopMs = 2_000;

const closers: (() => Promise<void>)[] = [];

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) {
    await close();
  }
}

async function openDatabase(config: Config, signal: AbortSignal): Promise<string> {
  if (config.databaseUrl !== undefined) {
    return config.databaseUrl;
  }
  const embedded = await startEmbeddedPostgres({
    dataDirectory: config.dataDirectory,
    log: say,
    signal,
  });
  closers.push(() => embedded.stop());
  void embedded.gaveUp.then((error) => {
    say(error.message);
    closing.close();
  });
  return embedded.connectionString;
}

/** One server, in this process or shared among workers. */
async function openServer(
  config: Config,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<{ url: string; close(): Promise<void> }> {
  if (config.workerCount === 1) {
    return await startServer(config, databaseUrl);
  }
  return await startWorkers({
    count: config.workerCount,
    host: config.host,
    port: config.port,
    databaseUrl,
    finishLimitMs: shutdownLimitMs - databaseStopMs,
    log: say,
    signal,
  });
}

async function startWorker(): Promise<void> {
  const config = readConfig(process.env);
  if (config.databaseUrl === undefined) {
    throw new ConfigError('A worker needs the DATABASE_URL that the first process gives it.');
  }
  const server = await startServer(config, config.databaseUrl);
  closers.push(() => server.close());
  reportListening(server.url);
}

async function start(signal: AbortSignal): Promise<void> {
  const config = readConfig(process.env);
  const databaseUrl = await openDatabase(config, signal);
  await waitForDatabase(databaseUrl, config.databaseWaitMs, say, signal);
  await migrate(databaseUrl, say);
  signal.throwIfAborted();
  const server = await openServer(config, databaseUrl, signal);
  closers.push(() => server.close());
  const endpoint = config.baseUrl ?? server.url;
  say(`Trunkline listens on ${server.url}. Try:`);
  say(
    `  AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws --endpoint-url ${endpoint} --region ${config.region} sqs create-queue --queue-name first`,
  );
}

function explain(error: unknown): string {
  const isExpected =
    error instanceof ConfigError ||
    error instanceof ConnectionError ||
    error instanceof MigrationError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof WorkerStartError;
  if (isExpected) {
    return error.message;
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const text = error instanceof Error ? error.message : String(error);
  switch (code) {
    case 'EADDRINUSE':
      return `Another program listens on this address already: ${text}. Stop it, or set PORT to a free port.`;
    case '42501':
      return /denied for database/.test(text)
        ? `The database role may not set up the schema trunkline: ${text}. Grant it, as an administrator: GRANT CREATE ON DATABASE <database> TO <role>.`
        : `The schema trunkline belongs to another database role: ${text}. Start with the role that set it up, or make this one a member of it: GRANT <owner> TO <role>.`;
    default:
      return `Trunkline stops because of an unexpected error: ${error instanceof Error ? error.stack : text}`;
  }
}

const stopping = new AbortController();
const started = isWorker ? startWorker() : start(stopping.signal);

/**
 * Ctrl-C reaches a worker twice, from the terminal and as SIGTERM from the first process, and what stands for
 * impatience elsewhere, a second signal, must not end it before its work is finished.
 */
const repeatedSignals = isWorker ? (['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) : [];

const closing = closeWithGrace(
  { delay: shutdownLimitMs, logger: { error: say }, skip: [...repeatedSignals] },
  async ({ err }) => {
    if (err !== undefined) {
      say(explain(err));
    }
    // A start that is still under way leaves nothing behind.
    stopping.abort();
    await started.catch(() => {});
    await closeAll();
  },
);

for (const signal of repeatedSignals) {
  process.on(signal, () => {
    if (!stopping.signal.aborted) {
      closing.close();
    }
  });
}

try {
  await started;
} catch (error) {
  if (!stopping.signal.aborted) {
    say(explain(error));
    await closeAll();
    process.exit(1);
  }
}
