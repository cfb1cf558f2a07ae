import { constants } from 'node:fs';
import { copyFile, type FileHandle, open, rm, stat } from 'node:fs/promises';
import { openPrivateFile } from './private-file.ts';
import { unlessError } from './unless-error.ts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;

const TAIL_BYTES = 8 * 1024;

const TAIL_LINES = 15;

/** For PostgreSQL to inherit. It writes at the end even after the file was cut. */
export async function openPostgresLog(path: string): Promise<FileHandle> {
  return openPrivateFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT);
}

/** Keeps at most the last 10 MiB, plus as much again in `<path>.old`. */
export async function limitPostgresLog(path: string): Promise<void> {
  if ((await postgresLogSize(path)) <= MAX_LOG_BYTES) return;
  const old = `${path}.old`;
  await rm(old, { force: true });
  await copyFile(path, old, constants.COPYFILE_EXCL);
  const handle = await openPrivateFile(path, constants.O_WRONLY | constants.O_TRUNC);
  await handle.close();
}

export async function postgresLogSize(path: string): Promise<number> {
  return (await unlessError(stat(path), 'ENOENT'))?.size ?? 0;
}

/** The last lines written since the file was `offset` bytes long. */
export async function readPostgresLogTail(path: string, offset: number): Promise<string> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    const { size } = await handle.stat();
    const start = Math.max(Math.min(offset, size), size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    return buffer.toString('utf8', 0, bytesRead).trim().split('\n').slice(-TAIL_LINES).join('\n');
  } finally {
    await handle.close();
  }
}
