import {
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';
import { DATABASE_NAME } from './connection-file.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { syncDirectory, TEMPORARY_FILE } from './private-file.ts';
import { runProgram } from './run-program.ts';
import { unlessError } from './unless-error.ts';

const INITIALIZE_LIMIT_MS = 5 * 60_000;

const SINGLE_USER_LIMIT_MS = 5 * 60_000;

/** initdb reports each of its steps first. */
const ERROR_LINES = 8;

const INCOMPLETE_PREFIX = 'initializing-';

/**
 * Whether there is a cluster; one that these programs cannot open throws. Its directory appears only when
 * initdb is done with it, so one without a version is not an interrupted start.
 */
export async function hasCluster({ directory, home, binaries }: Cluster): Promise<boolean> {
  const version = await unlessError(readFile(join(directory, 'PG_VERSION'), 'utf8'), 'ENOENT');
  if (version === undefined) {
    await unlessError(rmdir(directory), 'ENOENT', 'ENOTEMPTY', 'EEXIST');
    const names = await unlessError(readdir(directory), 'ENOENT');
    if (names === undefined) return false;
    throw new EmbeddedPostgresError(
      `${directory} is damaged: it has no PG_VERSION. Restore it from a backup, or set ` +
        'TRUNKLINE_DATA_DIR to a new directory to start with an empty database.',
    );
  }
  if (Number(version) !== binaries.majorVersion) {
    throw new EmbeddedPostgresError(
      `The database in ${directory} was written by PostgreSQL ${version.trim()}, and this Trunkline comes ` +
        `with PostgreSQL ${binaries.majorVersion}, which cannot open it. Go back to the Trunkline that ` +
        'wrote it and move the data with pg_dump, upgrade it with pg_upgrade, or keep it and set ' +
        `TRUNKLINE_DATA_DIR to a directory other than ${home} to start with an empty database.`,
    );
  }
  return true;
}

/**
 * Creates the cluster under another name and renames it when complete, so that a start which is killed on
 * the way leaves no half-made cluster.
 */
export async function createCluster(cluster: Cluster, password: string): Promise<void> {
  const { home, directory, account, binaries, settings } = cluster;
  const workshop = await mkdtemp(join(home, INCOMPLETE_PREFIX));
  try {
    const passwordFile = join(workshop, 'password');
    const incomplete = join(workshop, 'postgresql');
    await writeFile(passwordFile, password, { mode: 0o600, flag: 'wx' });
    await mkdir(incomplete, { mode: 0o700 });
    if (account !== undefined) {
      for (const path of [incomplete, passwordFile, workshop]) {
        await chown(path, account.uid, account.gid);
      }
    }
    const options = [
      `--pgdata=${incomplete}`,
      `--username=${DATABASE_NAME}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Built into PostgreSQL: sorts alike on every system and after every update of that.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(settings['fsync'] === 'off' ? ['--no-sync'] : []),
    ];
    const result = await runProgram(binaries.initdb, options, {
      account,
      limitMs: INITIALIZE_LIMIT_MS,
    });
    if (!result.succeeded) {
      const lastLines = result.output.split('\n').slice(-ERROR_LINES).join('\n');
      throw new EmbeddedPostgresError(
        `PostgreSQL could not create its database in ${home}. It said:\n${lastLines}\nCorrect that ` +
          'and start again, or set DATABASE_URL to use your own PostgreSQL.',
      );
    }
    await rename(incomplete, directory);
    await syncDirectory(home);
  } finally {
    await rm(workshop, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Removes what killed starts left of their attempts to create the cluster or to write a file. */
export async function removeUnfinished({ home, log }: Cluster): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(INCOMPLETE_PREFIX) && !TEMPORARY_FILE.test(name)) continue;
    try {
      await rm(join(home, name), { recursive: true, force: true, maxRetries: 3 });
    } catch (error) {
      // An initdb that outlived its Trunkline still writes there; the next start gets another chance.
      log(`Cannot remove the unfinished ${join(home, name)} yet: ${String(error)}`);
    }
  }
}

/**
 * Gives the PostgreSQL user a new password without knowing the old one, in PostgreSQL's single-user mode.
 * The cluster must not be running.
 */
export async function setPassword(cluster: Cluster, password: string): Promise<void> {
  const { account, binaries, directory } = cluster;
  const options = ['--single', '-D', directory, 'postgres'];
  const result = await runProgram(binaries.postgres, options, {
    account,
    input: `alter role ${DATABASE_NAME} password '${password}'\n`,
    limitMs: SINGLE_USER_LIMIT_MS,
  });
  if (!result.succeeded || /^(ERROR|FATAL|PANIC)|(ERROR|FATAL|PANIC): /m.test(result.output)) {
    throw new EmbeddedPostgresError(
      `The file connection-url with the password of the database in ${directory} is missing, and setting ` +
        `a new password failed. PostgreSQL said:\n${result.output}`,
    );
  }
}
