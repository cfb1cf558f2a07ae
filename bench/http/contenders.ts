import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Run } from '../harness/benchmark.ts';
import { findFreePort, type Program, startProgram } from '../harness/child-process.ts';
import { nodeOfPrograms } from '../harness/node.ts';
import { compiledBench, peersDirectory, storesDirectory } from '../harness/paths.ts';
import { startTrunkline } from '../harness/trunkline-server.ts';

export const trunkline = 'Trunkline';
export const bareFastify = 'bare Fastify (no store)';
export const fusedInserts = 'Fastify and inserts';

export interface Contender {
  name: string;
  server: Program;
}

async function startFauxqs(run: Run, dataDirectory?: string): Promise<Program | undefined> {
  if (!existsSync(resolve(peersDirectory, 'node_modules/fauxqs'))) {
    return undefined;
  }
  const port = String(await findFreePort());
  return await startProgram(
    {
      command: nodeOfPrograms,
      args: [resolve(peersDirectory, 'fauxqs.mjs')],
      environment: { PORT: port, ...(dataDirectory !== undefined && { DATA_DIR: dataDirectory }) },
      url: `http://127.0.0.1:${port}`,
    },
    run.closeAtEnd,
  );
}

/** Its database is beside PostgreSQL's, so on the same disk. */
async function startFauxqsOnDisk(run: Run): Promise<Program | undefined> {
  await mkdir(storesDirectory, { recursive: true });
  const directory = await mkdtemp(resolve(storesDirectory, 'fauxqs-'));
  run.closeAtEnd(() => rm(directory, { recursive: true, force: true }));
  return await startFauxqs(run, directory);
}

async function startMoto(run: Run): Promise<Program | undefined> {
  const port = String(await findFreePort());
  return await startProgram(
    {
      command: 'moto_server',
      args: ['-H', '127.0.0.1', '-p', port],
      environment: { HOME: process.env['HOME'] ?? '' },
      url: `http://127.0.0.1:${port}`,
    },
    run.closeAtEnd,
  );
}

/** A server of our own, to compare with. */
function startCeiling(
  run: Run,
  file: string,
  environment: Record<string, string> = {},
): Promise<Program | undefined> {
  return startProgram(
    {
      command: nodeOfPrograms,
      args: [compiledBench(file)],
      environment,
      readyPattern: /Listening on (http:\S+)\.\n/,
    },
    run.closeAtEnd,
  );
}

/**
 * Trunkline, the ceilings, and the peers that are installed, each in a process of its own. The notes tell what was
 * left out.
 */
export async function startContenders(
  run: Run,
  databaseUrl: string,
): Promise<{ contenders: Contender[]; notes: string[] }> {
  const notes: string[] = [];
  const starts: [string, () => Promise<Program | undefined>][] = [
    [trunkline, () => startTrunkline(databaseUrl, run.closeAtEnd)],
    [bareFastify, () => startCeiling(run, 'http/bare-fastify.js')],
    [fusedInserts, () => startCeiling(run, 'http/fused-inserts.js', { DATABASE_URL: databaseUrl })],
    ['fauxqs (in memory)', () => startFauxqs(run)],
    ['fauxqs (SQLite)', () => startFauxqsOnDisk(run)],
    [
      'moto (in memory)',
      // It is whatever the path has, not what bench/peers installed.
      () =>
        startMoto(run).catch(() => {
          notes.push('moto_server is on the path but did not start, so moto is left out.');
          return undefined;
        }),
    ],
  ];
  const contenders: Contender[] = [];
  for (const [name, start] of starts) {
    run.progress(`Starting ${name}`);
    const server = await start();
    if (server !== undefined) {
      contenders.push({ name, server });
    }
  }
  return { contenders, notes };
}
