import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Opens a file only its owner may read. Root gives it to the directory's owner, so that a data directory
 * used once with sudo stays usable without. A symbolic link is refused, so that the owner of a directory
 * cannot have root write somewhere else.
 */
export async function openPrivateFile(path: string, flags: number): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_NOFOLLOW, 0o600);
  try {
    if (process.getuid?.() === 0) {
      const owner = await stat(dirname(path));
      await handle.chown(owner.uid, owner.gid);
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The names of files that a killed process may have left unfinished. */
export const TEMPORARY_FILE = /\.[0-9a-f]{12}\.tmp$/;

/** Writes a new private file next to `path` and returns its name; it is on disk when this returns. */
export async function writePrivateSibling(path: string, content: string): Promise<string> {
  const sibling = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const handle = await openPrivateFile(sibling, flags);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return sibling;
}

/** Replaces a private file in one step: a reader, or a start after a crash, sees the old or the new one. */
export async function replacePrivateFile(path: string, content: string): Promise<void> {
  const sibling = await writePrivateSibling(path, content);
  try {
    await rename(sibling, path);
  } catch (error) {
    await unlink(sibling);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Makes a rename durable: the name is on disk only once its directory is. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
