import { chmod, lstat, mkdir } from 'node:fs/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

/** Where root keeps what an unprivileged account must reach. */
export const SYSTEM_DIRECTORY = '/var/lib/trunkline';

/**
 * Creates the directory when missing. Programs are run from it and the pointers of data directories lead
 * into it, so nobody but root may be able to put anything there.
 */
export async function openSystemDirectory(): Promise<string> {
  if ((await mkdir(SYSTEM_DIRECTORY, { recursive: true })) !== undefined) {
    await chmod(SYSTEM_DIRECTORY, 0o755); // Whatever the umask is.
  }
  const stats = await lstat(SYSTEM_DIRECTORY);
  if (!stats.isDirectory() || stats.uid !== 0 || (stats.mode & 0o022) !== 0) {
    throw new EmbeddedPostgresError(
      `${SYSTEM_DIRECTORY} must be a directory that belongs to root and that only root can write to. ` +
        'Correct or remove it, or set DATABASE_URL.',
    );
  }
  return SYSTEM_DIRECTORY;
}
