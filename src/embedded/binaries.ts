import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canReach, mayPass } from './account.ts';
import { findBinaryPackage } from './binary-package.ts';
import type { DataHome } from './data-home.ts';
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts';
import { completeNativeDirectory } from './library-links.ts';
import { runProgram } from './run-program.ts';
import { openSystemDirectory } from './system-directory.ts';
import { unlessError } from './unless-error.ts';

const VERSION_LIMIT_MS = 30_000;

/** No copy takes this long, so what is older was left by a killed one. */
const ABANDONED_COPY_AGE_MS = 60 * 60 * 1_000;

export interface Binaries {
  initdb: string;
  postgres: string;
  majorVersion: number;
}

/**
 * The programs of PostgreSQL, ready to be run as the account: in node_modules where that works, else from
 * a copy. One is needed when the account cannot reach a checkout below /root, or when the package is
 * incomplete and belongs to someone else.
 */
export async function prepareBinaries(
  home: DataHome,
  log: (message: string) => void,
): Promise<Binaries> {
  const { nativeDirectory, version } = await findBinaryPackage();
  const isUsable = await isUsableInPlace(nativeDirectory, home);
  const directory = isUsable
    ? nativeDirectory
    : await installCopy(nativeDirectory, version, home, log);
  const postgres = join(directory, 'bin', 'postgres');
  const initdb = join(directory, 'bin', 'initdb');
  return { initdb, postgres, majorVersion: await readMajorVersion(postgres, home) };
}

async function isUsableInPlace(nativeDirectory: string, { account }: DataHome): Promise<boolean> {
  const changed = completeNativeDirectory(nativeDirectory).then(() => true);
  if ((await unlessError(changed, 'EACCES', 'EPERM', 'EROFS')) !== true) return false;
  if (account === undefined) return true;
  for (const part of ['lib', 'share', 'bin']) {
    if (!(await canReach(account, join(nativeDirectory, part)))) return false;
  }
  return mayPass(account, await stat(join(nativeDirectory, 'bin', 'postgres')));
}

/** The copy gets its name only once it is complete, so a killed start leaves nothing to stumble over. */
async function installCopy(
  nativeDirectory: string,
  version: string,
  home: DataHome,
  log: (message: string) => void,
): Promise<string> {
  const parent = home.account === undefined ? home.directory : await openSystemDirectory();
  const directory = join(parent, `postgresql-${version}`);
  const isInstalled = (await unlessError(stat(directory), 'ENOENT')) !== undefined;
  if (isInstalled) return join(directory, 'native');
  await removeAbandonedCopies(parent);
  log(`Copying the PostgreSQL programs to ${directory}, since they cannot be used where they are.`);
  const incomplete = join(parent, `copying-${randomBytes(6).toString('hex')}`);
  await mkdir(incomplete, { mode: 0o755 });
  try {
    const copy = join(incomplete, 'native');
    await cp(nativeDirectory, copy, { recursive: true, verbatimSymlinks: true });
    await completeNativeDirectory(copy);
    await openToAll(incomplete);
    await rename(incomplete, directory);
  } catch (error) {
    await rm(incomplete, { recursive: true, force: true });
    const isOvertaken = ['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '');
    if (!isOvertaken) throw error; // Otherwise another start has just installed the same.
  }
  return join(directory, 'native');
}

/** Readable by all and writable by the owner alone, whatever the umask of the install or of this process. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

async function removeAbandonedCopies(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!/^copying-[0-9a-f]{12}$/.test(name)) continue;
    const path = join(parent, name);
    const stats = await unlessError(stat(path), 'ENOENT');
    const isAbandoned = stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_COPY_AGE_MS;
    if (isAbandoned) await rm(path, { recursive: true, force: true });
  }
}

/** Also proves that the programs run at all on this system and, for root, as the account. */
async function readMajorVersion(postgres: string, { account }: DataHome): Promise<number> {
  const failure = (reason: string, cause?: unknown) =>
    new EmbeddedPostgresError(
      `The embedded PostgreSQL does not run on this system: ${reason}. (Its programs are built for ` +
        'glibc, so they do not run on Alpine Linux, for example.) Set DATABASE_URL to use your own.',
      { cause },
    );
  try {
    const result = await runProgram(postgres, ['--version'], {
      account,
      limitMs: VERSION_LIMIT_MS,
    });
    const version = /^postgres \(PostgreSQL\) (\d+)/m.exec(result.output)?.[1];
    if (!result.succeeded || version === undefined) throw failure(result.output);
    return Number(version);
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(error instanceof Error)) throw error;
    throw failure(error.message, error);
  }
}
