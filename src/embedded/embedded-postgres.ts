import { resolve } from 'node:path';
import { prepareBinaries } from './binaries.ts';
import { type Cluster, describeCluster } from './cluster.ts';
import { createCluster, hasCluster, removeUnfinished, setPassword } from './cluster-files.ts';
import {
  type Connection,
  connectionFile,
  connectionString,
  generatePassword,
  readConnection,
  writeConnection,
} from './connection-file.ts';
import { openDataHome } from './data-home.ts';
import { ensureDatabase } from './database.ts';
import { EmbeddedPostgresError, explainError } from './embedded-postgres-error.ts';
import { findFreePort } from './free-port.ts';
import { stopLeftoverProcesses } from './leftover-processes.ts';
import { claimOwnership } from './ownership.ts';
import { PortTakenError, type Postmaster, startPostmaster } from './postmaster.ts';
import { superviseCluster } from './supervisor.ts';

const MAX_PORT_ATTEMPTS = 10;

export interface EmbeddedPostgresOptions {
  /** Created when missing. What it holds belongs to this module. */
  dataDirectory: string;
  log: (message: string) => void;
  /** PostgreSQL settings that replace the defaults, such as `{ fsync: 'off' }` for a test. */
  settings?: Record<string, string>;
  /** Ends a start that is still under way, such as a long recovery: it then throws the signal's reason. */
  signal?: AbortSignal;
}

export interface EmbeddedPostgres {
  connectionString: string;
  /**
   * Resolves, at some time after the start, when PostgreSQL has ended by itself and cannot be started
   * again. It never rejects, and stays pending otherwise.
   */
  gaveUp: Promise<EmbeddedPostgresError>;
  /** Stops PostgreSQL and frees the data directory; the data is complete on disk. Calling it twice is fine. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL of its own for a machine that has only Node.js, and keeps it running. It recovers
 * from whatever a killed predecessor left behind. Throws EmbeddedPostgresError, with what to do about it,
 * also when another Trunkline uses the data directory.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError(
      'The embedded PostgreSQL is not supported on Windows. Set DATABASE_URL to use your own.',
    );
  }
  try {
    return await start(options);
  } catch (error) {
    throw explainError(error, options.dataDirectory);
  }
}

async function start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {}, signal = new AbortController().signal } = options;
  const home = await openDataHome(resolve(options.dataDirectory), log);
  const ownership = await claimOwnership(home.directory, log);
  try {
    const cluster = describeCluster(home, {
      binaries: await prepareBinaries(home, log),
      settings,
      log,
    });
    const password = await prepareCluster(cluster);
    const { connection, postmaster } = await startOnFreePort(cluster, password, signal);
    const { gaveUp, stop } = superviseCluster(cluster, ownership, connection.port, postmaster);
    let stopped: Promise<void> | undefined;
    return {
      connectionString: connectionString(connection),
      gaveUp,
      stop() {
        stopped ??= stop().finally(() => ownership.release());
        return stopped;
      },
    };
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

/** Leaves a complete cluster that nothing uses, and returns its password. */
async function prepareCluster(cluster: Cluster): Promise<string> {
  await removeUnfinished(cluster);
  const exists = await hasCluster(cluster);
  const stored = (await readConnection(cluster))?.password;
  if (exists && stored !== undefined) return stored;
  const connection = { password: generatePassword(), port: 0 };
  if (exists) {
    cluster.log(`${connectionFile(cluster)} is missing or unreadable; setting a new password.`);
    await stopLeftoverProcesses(cluster);
    await setPassword(cluster, connection.password);
    await writeConnection(cluster, connection);
  } else {
    cluster.log(`Creating a PostgreSQL database in ${cluster.home}.`);
    // First the password: a cluster whose password is lost would need the way above.
    await writeConnection(cluster, connection);
    await createCluster(cluster, connection.password);
  }
  return connection.password;
}

/** The same port as last time when it is free, so that the connection string stays the same. */
async function startOnFreePort(
  cluster: Cluster,
  password: string,
  signal: AbortSignal,
): Promise<{ connection: Connection; postmaster: Postmaster }> {
  await stopLeftoverProcesses(cluster);
  const previous = (await readConnection(cluster))?.port;
  for (let attempt = 1; ; attempt += 1) {
    const connection = { password, port: await findFreePort(previous) };
    try {
      return { connection, postmaster: await startOn(cluster, connection, signal) };
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === MAX_PORT_ATTEMPTS) throw error;
    }
  }
}

async function startOn(
  cluster: Cluster,
  connection: Connection,
  signal: AbortSignal,
): Promise<Postmaster> {
  const postmaster = await startPostmaster(cluster, connection.port, signal);
  try {
    await ensureDatabase(connection, connectionFile(cluster));
    await writeConnection(cluster, connection);
    signal.throwIfAborted();
    return postmaster;
  } catch (error) {
    await postmaster.stop();
    throw error;
  }
}
