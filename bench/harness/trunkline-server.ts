import { readFile } from 'node:fs/promises';
import { type Program, startProgram } from './child-process.ts';
import type { CloseAtEnd } from './closers.ts';
import { nodeOfPrograms } from './node.ts';
import { compiledServer } from './paths.ts';

/** The compiled server in a process of its own, on a port that is free. Migrates the database first. */
export async function startTrunkline(
  databaseUrl: string,
  closeAtEnd: CloseAtEnd,
): Promise<Program> {
  const server = await startProgram(
    {
      command: nodeOfPrograms,
      args: [compiledServer],
      environment: { DATABASE_URL: databaseUrl, PORT: '0', LOG_LEVEL: 'warn' },
      readyPattern: /Trunkline listens on (http:\S+?)\. Try/,
    },
    closeAtEnd,
  );
  if (server === undefined) {
    throw new Error('Node.js is not where it was.');
  }
  return server;
}

/** The most memory that a process had so far, in MB; undefined where the system does not tell. */
export async function peakMemoryMb({ pid }: Program): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const peakKb = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1];
  return peakKb === undefined ? undefined : Number(peakKb) / 1024;
}
