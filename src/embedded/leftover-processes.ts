import { existsSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import { listProcesses, type RunningProcess } from './process-table.ts';
import { unlessError } from './unless-error.ts';
import { waitUntil } from './wait-until.ts';

interface Step {
  signal: NodeJS.Signals | undefined;
  /** Also to the children, which a living postmaster would take for crashes. */
  isForAll: boolean;
  limitMs: number;
}

/** SIGINT is PostgreSQL's fast shutdown: it ends the sessions and leaves nothing to recover. */
const STOP_POSTMASTER: Step[] = [
  { signal: 'SIGINT', isForAll: false, limitMs: 60_000 },
  { signal: 'SIGQUIT', isForAll: false, limitMs: 10_000 },
  { signal: 'SIGKILL', isForAll: true, limitMs: 10_000 },
];

/** Children notice within moments that their postmaster is gone, unless a long statement keeps them. */
const STOP_ORPHANS: Step[] = [
  { signal: undefined, isForAll: true, limitMs: 5_000 },
  { signal: 'SIGQUIT', isForAll: true, limitMs: 10_000 },
  { signal: 'SIGKILL', isForAll: true, limitMs: 10_000 },
];

/**
 * Makes sure that no process of the cluster is left, so that a new postmaster can start: stops one left
 * running by a killed Trunkline and waits for the children of a killed postmaster, which still hold its
 * shared memory. Call it only as the owner of the data directory.
 */
export async function stopLeftoverProcesses(cluster: Cluster): Promise<void> {
  const { postmasters, all } = await findProcesses(cluster);
  if (all.length > 0) {
    const pids = all.map(({ pid }) => pid).join(', ');
    const [postmaster] = postmasters;
    if (postmaster === undefined) {
      cluster.log(`Waiting for processes of a killed PostgreSQL to end (${pids}).`);
      await takeSteps(cluster, STOP_ORPHANS);
    } else {
      cluster.log(
        `Stopping the PostgreSQL left by a killed Trunkline (process ${postmaster.pid}).`,
      );
      await takeSteps(cluster, STOP_POSTMASTER);
    }
  }
  await removeMisleadingPidFile(cluster);
}

async function takeSteps(cluster: Cluster, steps: Step[]): Promise<void> {
  for (const { signal, isForAll, limitMs } of steps) {
    const { postmasters, all } = await findProcesses(cluster);
    // Looked up anew for each signal, so that a pid which has been reused meanwhile gets none.
    if (signal !== undefined) {
      for (const { pid } of isForAll ? all : postmasters) sendSignal(pid, signal);
    }
    const isGone = async () => (await findProcesses(cluster)).all.length === 0;
    if (await waitUntil(isGone, { limitMs })) return;
  }
  const remaining = (await findProcesses(cluster)).all.map(({ pid }) => pid).join(', ');
  throw new EmbeddedPostgresError(
    `Processes of an earlier PostgreSQL still use ${cluster.directory} and do not end even when killed ` +
      `(${remaining}). They usually wait for a disk or network file system: see to that, then start again.`,
  );
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error; // It has ended by itself.
  }
}

async function findProcesses({ name, directory, account }: Cluster) {
  const uid = account?.uid ?? process.getuid?.();
  const candidates = (await listProcesses()).filter((candidate) => candidate.uid === uid);
  const postmasters = candidates.filter(({ command }) =>
    command.includes(`/postgres -D ${directory} -c cluster_name=${name} `),
  );
  const children = candidates.filter(({ command }) => command.startsWith(`postgres: ${name}: `));
  return { postmasters, all: [...postmasters, ...children] };
}

/**
 * PostgreSQL refuses to start while any process has the pid in postmaster.pid. After a crash that may be a
 * stranger with a reused pid, or a zombie that is never reaped; all real ones are gone by now. A file
 * whose pid is unused is left for PostgreSQL, which checks its shared memory too.
 */
async function removeMisleadingPidFile(cluster: Cluster): Promise<void> {
  const path = join(cluster.directory, 'postmaster.pid');
  const content = await unlessError(readFile(path, 'utf8'), 'ENOENT');
  const pid = Number.parseInt(content ?? '', 10);
  if (!(pid > 0) || !isInUse(pid)) return;
  const holder = (await listProcesses()).find((candidate) => candidate.pid === pid);
  if (holder !== undefined) assertNotMoved(cluster, holder);
  cluster.log(`Removing ${path}, left by a crash: process ${pid} is none of this database.`);
  await unlessError(unlink(path), 'ENOENT');
}

function isInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

/** Renaming a data directory in use does not stop its PostgreSQL, which goes on under the old name. */
function assertNotMoved(cluster: Cluster, { pid, command }: RunningProcess): void {
  const directory = /\/postgres -D (.*?) -c cluster_name=trunkline-/.exec(command)?.[1];
  if (directory === undefined || existsSync(directory)) return;
  throw new EmbeddedPostgresError(
    `The database in ${cluster.directory} was moved from ${directory} while it was in use, and its ` +
      `PostgreSQL still runs (process ${pid}). Stop it with "kill -INT ${pid}", then start again.`,
  );
}
