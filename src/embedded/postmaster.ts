import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { stopLeftoverProcesses } from './leftover-processes.ts';
import {
  limitPostgresLog,
  openPostgresLog,
  postgresLogSize,
  readPostgresLogTail,
} from './postgres-log.ts';
import { spawnOptions } from './run-program.ts';
import { unlessError } from './unless-error.ts';

const POLL_INTERVAL_MS = 50;

/** Recovery after a crash replays the write-ahead log, by default up to 1 GB of it. */
const READY_LIMIT_MS = 15 * 60_000;

const PROGRESS_INTERVAL_MS = 10_000;

const FAST_SHUTDOWN_LIMIT_MS = 30_000;

const IMMEDIATE_SHUTDOWN_LIMIT_MS = 10_000;

/** A killed postmaster's children or a starting one that no process list showed: they end in moments. */
const MAX_CONFLICTS = 20;
const CONFLICT_PAUSE_MS = 500;
const CONFLICT =
  /pre-existing shared memory block|lock file "postmaster\.pid" (already exists|is empty)/;

/** Another program has taken the port between the look for a free one and PostgreSQL's start. */
export class PortTakenError extends Error {}

/** The first process of a running PostgreSQL, which starts and ends all others. */
export interface Postmaster {
  pid: number;
  /** How it ended, in words; pending while it runs. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

/** Resolves once PostgreSQL accepts connections. Aborting stops it again and throws. */
export async function startPostmaster(
  cluster: Cluster,
  port: number,
  signal: AbortSignal,
): Promise<Postmaster> {
  for (let conflicts = 0; ; conflicts += 1) {
    await stopLeftoverProcesses(cluster);
    await limitPostgresLog(cluster.logFile);
    const offset = await postgresLogSize(cluster.logFile);
    const postmaster = await spawnPostmaster(cluster, port);
    const failure = await waitUntilReady(cluster, postmaster, signal);
    if (failure === undefined) return postmaster;
    const lastLines = await readPostgresLogTail(cluster.logFile, offset);
    if (/could not bind IPv4 address/.test(lastLines)) throw new PortTakenError();
    if (!CONFLICT.test(lastLines) || conflicts === MAX_CONFLICTS) {
      throw new EmbeddedPostgresError(
        `PostgreSQL did not start: it ${failure}. The end of its log ${cluster.logFile}:\n${lastLines}`,
      );
    }
    await sleep(CONFLICT_PAUSE_MS, undefined, { signal });
  }
}

async function spawnPostmaster(cluster: Cluster, port: number): Promise<Postmaster> {
  const settings: Record<string, string> = {
    shared_buffers: '128MB',
    max_connections: '100',
    ...cluster.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    // None: their paths may hold only 107 bytes, and where they usually are, names collide.
    unix_socket_directories: '',
    logging_collector: 'off',
  };
  // leftover-processes.ts recognises a postmaster by the start of this command line.
  const options = ['-D', cluster.directory, '-c', `cluster_name=${cluster.name}`];
  for (const [name, value] of Object.entries(settings)) options.push('-c', `${name}=${value}`);
  const logHandle = await openPostgresLog(cluster.logFile);
  try {
    const child = spawn(cluster.binaries.postgres, options, {
      ...spawnOptions(cluster.account),
      // Its own session: Ctrl-C reaches the whole process group of a terminal, and PostgreSQL would be
      // gone before the server has drained.
      detached: true,
      stdio: ['ignore', logHandle.fd, logHandle.fd],
    });
    return await describeChild(child, cluster);
  } finally {
    await logHandle.close();
  }
}

async function describeChild(child: ChildProcess, cluster: Cluster): Promise<Postmaster> {
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`);
    });
  });
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
  return { pid, ended, stop: () => stopChild(child, ended, cluster) };
}

async function stopChild(
  child: ChildProcess,
  ended: Promise<string>,
  cluster: Cluster,
): Promise<void> {
  child.kill('SIGINT');
  if (await settlesWithin(ended, FAST_SHUTDOWN_LIMIT_MS)) return;
  cluster.log(
    `PostgreSQL has not stopped within ${FAST_SHUTDOWN_LIMIT_MS / 1_000} s; forcing it to.`,
  );
  child.kill('SIGQUIT');
  if (await settlesWithin(ended, IMMEDIATE_SHUTDOWN_LIMIT_MS)) return;
  child.kill('SIGKILL');
  await ended;
}

async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  const timer = new AbortController();
  const limit = sleep(limitMs, false, { signal: timer.signal }).catch(() => false);
  const settled = await Promise.race([promise.then(() => true), limit]);
  timer.abort();
  return settled;
}

/** Undefined when ready, else why it never will be. */
async function waitUntilReady(
  cluster: Cluster,
  postmaster: Postmaster,
  signal: AbortSignal,
): Promise<string | undefined> {
  const startedAt = performance.now();
  let nextProgressMs = PROGRESS_INTERVAL_MS;
  let failure: string | undefined;
  void postmaster.ended.then((reason) => {
    failure = reason;
  });
  while (failure === undefined) {
    if (await isReady(cluster, postmaster.pid)) return undefined;
    const elapsedMs = performance.now() - startedAt;
    if (signal.aborted || elapsedMs > READY_LIMIT_MS) {
      await postmaster.stop();
      signal.throwIfAborted();
      return `was not ready within ${READY_LIMIT_MS / 60_000} minutes`;
    }
    if (elapsedMs > nextProgressMs) {
      nextProgressMs += PROGRESS_INTERVAL_MS;
      cluster.log('PostgreSQL is still starting; after a crash it recovers its data first.');
    }
    await sleep(POLL_INTERVAL_MS);
  }
  return failure;
}

/**
 * Reads what `pg_ctl --wait` does: line 1 of postmaster.pid is the pid, line 8 the state. A connection
 * attempt could not tell this PostgreSQL from another program on the port.
 */
async function isReady({ directory }: Cluster, pid: number): Promise<boolean> {
  const path = join(directory, 'postmaster.pid');
  const lines = (await unlessError(readFile(path, 'utf8'), 'ENOENT'))?.split('\n');
  return lines?.[0] === String(pid) && lines[7]?.trim() === 'ready';
}
