import { link, readdir, readFile, readlink, stat, unlink, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { replacePrivateFile, writePrivateSibling } from './private-file.ts';
import { readStartTime } from './process-table.ts';
import { unlessError } from './unless-error.ts';
import { waitUntil } from './wait-until.ts';

const HEARTBEAT_INTERVAL_MS = 1_000;

/** How long an owner that this process cannot see may be silent before it counts as dead. */
const HEARTBEAT_LIMIT_MS = 5 * HEARTBEAT_INTERVAL_MS;

/** A restart may overlap the last moments of the previous server. */
const LEAVING_LIMIT_MS = 1_500;

/** Each lost round means that another start won it, so this many in a row do not happen by chance. */
const MAX_ROUNDS = 20;

const RELEASED = 'released\n';

export interface Ownership {
  /** False once the directory was deleted or replaced under the running server, or taken over by another. */
  isHeld(): Promise<boolean>;
  /** Lets the next start in. */
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  startTime: string;
  /** The boot and pid namespace in which the pid means something. */
  place: string;
  host: string;
}

/**
 * Makes this process the only one to use the directory, or throws an error that names the other.
 *
 * Node.js has no flock, so the lock is a record of the owner's pid and start time that outlives a killed
 * owner and is then recognised as stale. The records are numbered, `owner-<n>.lock`, and the highest number
 * counts: a start that finds its owner gone creates the next number, which the file system allows only
 * one process to do. Deleting and recreating a single file would let two starts, each having found the
 * same stale lock, delete one another's. A released lock is therefore marked rather than deleted.
 *
 * An owner in another container or on another host cannot be looked up by pid: that one is alive as long
 * as it keeps touching its record.
 */
export async function claimOwnership(
  directory: string,
  log: (message: string) => void,
): Promise<Ownership> {
  const self: Owner = {
    pid: process.pid,
    startTime: (await readStartTime(process.pid)) ?? 'unknown',
    place: await readPlace(),
    host: hostname(),
  };
  const record = `${self.pid}\n${self.startTime}\n${self.place}\n${self.host}\n`;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const number = await highestNumber(directory);
    if (number > 0) await assertOwnerGone(directory, lockPath(directory, number), self, log);
    const path = lockPath(directory, number + 1);
    if ((await createLock(path, record)) && (await highestNumber(directory)) === number + 1) {
      await removeLowerNumbers(directory, number + 1);
      return keepLock(path, record, log);
    }
  }
  throw new EmbeddedPostgresError(
    `Too many Trunkline servers are starting on ${directory} at once. Start one.`,
  );
}

function lockPath(directory: string, number: number): string {
  return join(directory, `owner-${number}.lock`);
}

async function listNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory);
  return names.flatMap((name) => {
    const number = /^owner-(\d+)\.lock$/.exec(name)?.[1];
    return number === undefined ? [] : [Number(number)];
  });
}

async function highestNumber(directory: string): Promise<number> {
  return Math.max(0, ...(await listNumbers(directory)));
}

async function removeLowerNumbers(directory: string, number: number): Promise<void> {
  for (const other of await listNumbers(directory)) {
    if (other < number) await unlessError(unlink(lockPath(directory, other)), 'ENOENT');
  }
}

/** Creates the record with its whole content in one step, or returns false when another start did. */
async function createLock(path: string, content: string): Promise<boolean> {
  const sibling = await writePrivateSibling(path, content);
  try {
    const created = await unlessError(
      link(sibling, path).then(() => true),
      'EEXIST',
      'ENOENT', // The new owner tidies up, see removeUnfinished.
    );
    return created === true;
  } finally {
    await unlessError(unlink(sibling), 'ENOENT');
  }
}

function keepLock(path: string, record: string, log: (message: string) => void): Ownership {
  const isHeld = async () => (await unlessError(readFile(path, 'utf8'), 'ENOENT')) === record;
  const beat = async () => {
    try {
      const now = new Date();
      await utimes(path, now, now);
    } catch (error) {
      clearInterval(timer);
      log(`The lock ${path} cannot be refreshed: ${String(error)}`);
    }
  };
  const timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  timer.unref();
  return {
    isHeld,
    async release() {
      clearInterval(timer);
      if (await isHeld()) await replacePrivateFile(path, RELEASED);
    },
  };
}

async function assertOwnerGone(
  directory: string,
  path: string,
  self: Owner,
  log: (message: string) => void,
): Promise<void> {
  const content = (await unlessError(readFile(path, 'utf8'), 'ENOENT')) ?? RELEASED;
  const owner = parseOwner(content);
  if (owner === undefined) return;
  const isHere = owner.place === self.place;
  const isGone = isHere
    ? await waitUntil(async () => !(await isRunning(owner)), { limitMs: LEAVING_LIMIT_MS })
    : await isSilent(path, log);
  if (!isGone) throw alreadyRunning(directory, owner, isHere);
  log(`The Trunkline server that used ${directory} before (process ${owner.pid}) was killed.`);
}

/** Undefined when released, or cut short: only a power failure can do that to a record written at once. */
function parseOwner(content: string): Owner | undefined {
  const [pid, startTime, place, host] = content.split('\n');
  if (!/^\d+$/.test(pid ?? '') || startTime === undefined) return undefined;
  if (place === undefined || host === undefined) return undefined;
  return { pid: Number(pid), startTime, place, host };
}

async function isRunning(owner: Owner): Promise<boolean> {
  return (await readStartTime(owner.pid)) === owner.startTime;
}

/** Watches for a heartbeat rather than comparing times, since another host's clock may differ. */
async function isSilent(path: string, log: (message: string) => void): Promise<boolean> {
  const readBeat = async () => (await unlessError(stat(path), 'ENOENT'))?.mtimeMs;
  log('The data directory was last used in another container, on another host or before a reboot.');
  log(`Watching for up to ${HEARTBEAT_LIMIT_MS / 1_000} s whether that server still runs.`);
  const lastBeat = await readBeat();
  const hasBeaten = async () => (await readBeat()) !== lastBeat;
  return !(await waitUntil(hasBeaten, { limitMs: HEARTBEAT_LIMIT_MS, intervalMs: 200 }));
}

function alreadyRunning(directory: string, owner: Owner, isHere: boolean): EmbeddedPostgresError {
  const who = isHere
    ? `process ${owner.pid}`
    : `process ${owner.pid} on ${owner.host}, which this process cannot see`;
  return new EmbeddedPostgresError(
    `Another Trunkline server already uses the data directory ${directory}: ${who}. ` +
      `Stop it first${isHere ? ` (kill ${owner.pid})` : ''}, or give this server its own directory with ` +
      'TRUNKLINE_DATA_DIR. To run several servers on one database, set DATABASE_URL.',
  );
}

async function readPlace(): Promise<string> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`;
  } catch {
    return hostname(); // No Linux: one host is one place, and start times there carry the date.
  }
}
