import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Account, canReach, findUnprivilegedAccount, isRoot } from './account.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import { openSystemDirectory, SYSTEM_DIRECTORY } from './system-directory.ts';
import { unlessError } from './unless-error.ts';

/** The symbolic link in a data directory whose content had to move. */
const POINTER = 'relocated-to';

const CLUSTER = 'postgresql';

export interface DataHome {
  /** Real path of the directory that holds the cluster, its lock, its log and its connection file. */
  directory: string;
  clusterDirectory: string;
  /** Undefined when PostgreSQL runs as the same user as Trunkline. */
  account: Account | undefined;
}

/**
 * Creates the data directory when missing and decides where its content lives: in itself, except for root
 * when the account that PostgreSQL must run as cannot get there, as below /root. The content then lives
 * in a directory below /var/lib/trunkline and the data directory points to it.
 */
export async function openDataHome(
  dataDirectory: string,
  log: (message: string) => void,
): Promise<DataHome> {
  const requested = await createDirectory(dataDirectory);
  await refuseForeignCluster(requested);
  return isRoot() ? openAsRoot(requested, log) : openAsUser(requested);
}

/**
 * Sets a mode only on a directory that is new or still empty and so becomes Trunkline's own. Root's must
 * let the account pass; a temporary directory made for the purpose usually does not.
 */
async function createDirectory(path: string): Promise<string> {
  const options = { recursive: true, mode: isRoot() ? 0o711 : 0o700 };
  // ENOENT is what a recursive mkdir says when the file system is read-only.
  await unlessError(mkdir(path, options), 'ENOENT');
  if ((await statIfPresent(path)) === undefined) {
    throw new EmbeddedPostgresError(
      `The data directory ${path} cannot be created, most likely because its file system is read-only. ` +
        'Choose another with TRUNKLINE_DATA_DIR, or use your own PostgreSQL with DATABASE_URL.',
    );
  }
  const directory = await realpath(path);
  const stats = await stat(directory);
  if (isRoot() && stats.uid === 0 && (await readdir(directory)).length === 0) {
    await chmod(directory, (stats.mode & 0o7777) | 0o711);
  }
  return directory;
}

async function refuseForeignCluster(directory: string): Promise<void> {
  if ((await statIfPresent(join(directory, 'PG_VERSION'))) === undefined) return;
  throw new EmbeddedPostgresError(
    `${directory} is itself the data directory of a PostgreSQL server. Trunkline leaves it alone: set ` +
      'TRUNKLINE_DATA_DIR to an empty or new directory, or connect to that server with DATABASE_URL.',
  );
}

async function openAsUser(directory: string): Promise<DataHome> {
  const clusterDirectory = join(directory, CLUSTER);
  const cluster = await statIfPresent(clusterDirectory);
  if (cluster !== undefined && cluster.uid !== process.getuid?.()) {
    throw new EmbeddedPostgresError(
      `The database in ${directory} belongs to user id ${cluster.uid}, so it was created by another ` +
        'user or by root. Start Trunkline as that user, or choose another directory with ' +
        'TRUNKLINE_DATA_DIR.',
    );
  }
  return { directory, clusterDirectory, account: undefined };
}

async function openAsRoot(requested: string, log: (message: string) => void): Promise<DataHome> {
  const directory = (await followPointer(requested)) ?? requested;
  const clusterDirectory = join(directory, CLUSTER);
  const account = await chooseAccount(directory, clusterDirectory);
  if (await canReach(account, directory)) {
    return { directory, clusterDirectory, account };
  }
  if ((await statIfPresent(clusterDirectory)) !== undefined) {
    throw new EmbeddedPostgresError(
      `PostgreSQL runs as ${account.name}, which cannot reach the database in ${clusterDirectory} ` +
        'because a directory above it is closed to it. Move the data directory to a place that is open ' +
        `to ${account.name} and set TRUNKLINE_DATA_DIR to that.`,
    );
  }
  const home = await relocate(requested, account, log);
  return { directory: home, clusterDirectory: join(home, CLUSTER), account };
}

/** Whoever owns the database, or else the directory, if that is not root: then nothing changes hands. */
async function chooseAccount(directory: string, clusterDirectory: string): Promise<Account> {
  const owner = (await statIfPresent(clusterDirectory)) ?? (await stat(directory));
  return owner.uid === 0
    ? findUnprivilegedAccount()
    : { name: `user id ${owner.uid}`, uid: owner.uid, gid: owner.gid };
}

/** The directory that `requested` points to; undefined when it holds its content itself. */
async function followPointer(requested: string): Promise<string | undefined> {
  const pointer = join(requested, POINTER);
  // EINVAL: it is there, but it is not a symbolic link, so it is nothing of Trunkline's.
  const target = await unlessError(readlink(pointer), 'ENOENT', 'EINVAL');
  if (target === undefined) return undefined;
  if (dirname(target) !== (await openSystemDirectory())) {
    throw new EmbeddedPostgresError(
      `${pointer} leads to ${target}, which is not in ${SYSTEM_DIRECTORY}. Remove ${pointer}.`,
    );
  }
  if ((await statIfPresent(target)) === undefined) {
    throw new EmbeddedPostgresError(
      `The database of ${requested} was in ${target}, which is gone. Restore it, or remove ${pointer} to ` +
        'start with an empty database.',
    );
  }
  return target;
}

/**
 * A fresh directory each time: someone who deleted the data directory expects an empty database. What it
 * pointed to before is named in the log rather than deleted.
 */
async function relocate(
  requested: string,
  account: Account,
  log: (message: string) => void,
): Promise<string> {
  const systemDirectory = await openSystemDirectory();
  const prefix = `${nameFor(requested)}-`;
  const abandoned = (await readdir(systemDirectory)).filter((name) => name.startsWith(prefix));
  const home = await mkdtemp(join(systemDirectory, prefix));
  await chmod(home, 0o711);
  try {
    await symlink(home, join(requested, POINTER));
  } catch (error) {
    await rm(home, { recursive: true });
    const winner = errorCode(error) === 'EEXIST' ? await followPointer(requested) : undefined;
    if (winner === undefined) throw error;
    return winner;
  }
  log(`${account.name} cannot reach ${requested}, so the database is kept in ${home}.`);
  for (const name of abandoned) {
    log(`An earlier database of ${requested} is still in ${join(systemDirectory, name)}.`);
  }
  return home;
}

/** Recognisable by the project's name, unique by the whole path. */
function nameFor(requested: string): string {
  const project = basename(dirname(requested)).replaceAll(/[^\w-]/g, '_') || 'data';
  return `${project}-${createHash('sha256').update(requested).digest('hex').slice(0, 12)}`;
}

async function statIfPresent(path: string): Promise<Stats | undefined> {
  return unlessError(stat(path), 'ENOENT');
}
