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

async function startFauxqs(dataDirectory?: string): Promise<Program | undefined> {
  if (!existsSync(resolve(peersDirectory, 'node_modules/fauxqs'))) {
    return undefined;
  }
  const port = String(await findFreePort());
  return await startProgram({
    command: nodeOfPrograms,
    args: [resolve(peersDirectory, 'fauxqs.mjs')],
    environment: { PORT: port, ...(dataDirectory !== undefined && { DATA_DIR: dataDirectory }) },
    url: `http://127.0.0.1:${port}`,
  });
}

/** Its database is beside PostgreSQL's, so on the same disk. */
async function startFauxqsOnDisk(run: Run): Promise<Program | undefined> {
  await mkdir(storesDirectory, { recursive: true });
  const directory = await mkdtemp(resolve(storesDirectory, 'fauxqs-'));
  run.closeAtEnd(() => rm(directory, { recursive: true, force: true }));
  return await startFauxqs(directory);
}

async function startMoto(): Promise<Program | undefined> {
  const port = String(await findFreePort());
  return await startProgram({
    command: 'moto_server',
    args: ['-H', '127.0.0.1', '-p', port],
    environment: { HOME: process.env['HOME'] ?? '' },
    url: `http://127.0.0.1:${port}`,
  });
}

/** Trunkline, the ceiling, and the peers that are installed, each in a process of its own. */
export async function startContenders(run: Run, databaseUrl: string): Promise<Contender[]> {
  const starts: [string, () => Promise<Program | undefined>][] = [
    [trunkline, () => startTrunkline(databaseUrl)],
    [
      bareFastify,
      () =>
        startProgram({
          command: nodeOfPrograms,
          args: [compiledBench('http/bare-fastify.js')],
          readyPattern: /Listening on (http:\S+)\.\n/,
        }),
    ],
    [
      fusedInserts,
      () =>
        startProgram({
          command: nodeOfPrograms,
          args: [compiledBench('http/fused-inserts.js')],
          environment: { DATABASE_URL: databaseUrl },
          readyPattern: /Listening on (http:\S+)\.\n/,
        }),
    ],
    ['fauxqs (in memory)', () => startFauxqs()],
    ['fauxqs (SQLite)', () => startFauxqsOnDisk(run)],
    ['moto (in memory)', startMoto],
  ];
  const contenders: Contender[] = [];
  for (const [name, start] of starts) {
    run.progress(`Starting ${name}`);
    const server = await start();
    if (server !== undefined) {
      run.closeAtEnd(() => server.stop());
      contenders.push({ name, server });
    }
  }
  return contenders;
}
