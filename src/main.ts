import closeWithGrace from 'close-with-grace';
import { ConfigError, readConfig } from './config.ts';
import { ConnectionError, waitForDatabase } from './db/connect.ts';
import { MigrationError, migrate } from './db/migrate.ts';
import { EmbeddedPostgresError, startEmbeddedPostgres } from './embedded/index.ts';
import { startServer } from './server.ts';

/** Composition root: settings, database, schema, server; and the same in reverse at the end. */

/** What a person reads; the log proper is the server's. */
function say(message: string): void {
  process.stdout.write(`${message}\n`);
}

const shutdownLimitMs = 10_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) {
      await close();
    }
  };
  closeWithGrace({ delay: shutdownLimitMs, logger: { error: say } }, async ({ err }) => {
    if (err !== undefined) {
      say(`Trunkline stops because of an unexpected error: ${err.stack ?? err.message}`);
    }
    await closeAll();
  });

  try {
    let { databaseUrl } = config;
    if (databaseUrl === undefined) {
      const embedded = await startEmbeddedPostgres({
        dataDirectory: config.dataDirectory,
        log: say,
      });
      closers.push(() => embedded.stop());
      databaseUrl = embedded.connectionString;
    }
    await waitForDatabase(databaseUrl, config.databaseWaitMs, say);
    await migrate(databaseUrl, say);
    const server = await startServer(config, databaseUrl);
    closers.push(() => server.close());
    say(`Trunkline listens on ${server.url}. Try:`);
    say(
      `  AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws --endpoint-url ${server.url} --region ${config.region} sqs create-queue --queue-name first`,
    );
  } catch (error) {
    say(explain(error));
    await closeAll();
    process.exit(1);
  }
}

function explain(error: unknown): string {
  const isExpected =
    error instanceof ConfigError ||
    error instanceof ConnectionError ||
    error instanceof MigrationError ||
    error instanceof EmbeddedPostgresError;
  if (isExpected) {
    return error.message;
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `Another program listens on this address already: ${error.message}. Stop it, or set PORT to a free port.`;
  }
  if (error instanceof Error && 'code' in error && error.code === '42501') {
    return `The database role may not set up the schema trunkline: ${error.message}. Grant it once, as an administrator: GRANT CREATE ON DATABASE <database> TO <role>.`;
  }
  return `Trunkline cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

await main();
