import { access, chmod, constants, readFile, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unlessError } from './unless-error.ts';

/**
 * Does what the binary package's install script does, which npm may not have run: archives of npm cannot
 * hold symbolic links, so those of the shared libraries are listed in a file instead. Idempotent; throws
 * EACCES, EPERM or EROFS when something is missing and the directory may not be changed.
 */
export async function completeNativeDirectory(nativeDirectory: string): Promise<void> {
  for (const { source, target } of await readLinks(nativeDirectory)) {
    const path = join(dirname(nativeDirectory), target);
    if ((await unlessError(stat(path), 'ENOENT')) !== undefined) continue;
    // EEXIST: another start has just created it.
    await unlessError(symlink(basename(source), path), 'EEXIST');
  }
  for (const program of ['initdb', 'postgres']) {
    const path = join(nativeDirectory, 'bin', program);
    const isRunnable = access(path, constants.X_OK).then(() => true);
    if ((await unlessError(isRunnable, 'EACCES')) !== true) await chmod(path, 0o755);
  }
}

interface Link {
  source: string;
  target: string;
}

/** All of them lie next to what they lead to, as `native/lib/libpq.so.5` to `native/lib/libpq.so.5.18`. */
async function readLinks(nativeDirectory: string): Promise<Link[]> {
  const path = join(nativeDirectory, 'pg-symlinks.json');
  // Not every platform's package has links.
  const content = (await unlessError(readFile(path, 'utf8'), 'ENOENT')) ?? '[]';
  const links: unknown = JSON.parse(content);
  if (Array.isArray(links) && links.every(isLink)) return links;
  throw new Error(`Cannot read the list of symbolic links in ${path}.`);
}

function isLink(value: unknown): value is Link {
  if (typeof value !== 'object' || value === null) return false;
  if (!('source' in value && typeof value.source === 'string')) return false;
  if (!('target' in value && typeof value.target === 'string')) return false;
  const directory = dirname(value.target);
  return dirname(value.source) === directory && /^native\/[\w/-]+$/.test(directory);
}
