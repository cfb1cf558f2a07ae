import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { basename, resolve } from 'node:path';
import { promisify } from 'node:util';
import { nodeOfPrograms } from './node.ts';
import { peersDirectory, repository } from './paths.ts';
import type { PostgresServer } from './postgres.ts';

interface Manifest {
  version: string;
  dependencies: Record<string, string>;
}

async function readManifest(directory: string): Promise<Manifest | undefined> {
  const text = await readFile(resolve(directory, 'package.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/** Names with versions, of those that are installed. */
async function describePeers(): Promise<string[]> {
  const names = Object.keys((await readManifest(peersDirectory))?.dependencies ?? {});
  const peers: string[] = [];
  for (const name of names.filter((name) => name !== 'node')) {
    const manifest = await readManifest(resolve(peersDirectory, 'node_modules', name));
    if (manifest !== undefined) {
      peers.push(`${name} ${manifest.version}`);
    }
  }
  return peers;
}

/** What a figure is worth nothing without. */
export async function describeMachine(
  postgres: PostgresServer,
  pgmqFile: string | undefined,
): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(nodeOfPrograms, ['--version']);
  const peers = await describePeers();
  if (pgmqFile !== undefined) {
    peers.push(`pgmq (${basename(pgmqFile)})`);
  }
  return {
    Date: new Date().toISOString(),
    Machine: `${process.platform} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`,
    Trunkline: (await readManifest(repository))?.version ?? 'unknown',
    Peers: peers.join(', ') || 'none installed',
    'Node.js': `${stdout.trim()} for what is measured, ${process.version} for the load generator`,
    PostgreSQL: postgres.description,
    Commits: postgres.isDurable
      ? 'durable (fsync and synchronous_commit are on)'
      : 'NOT DURABLE: fsync or synchronous_commit is off',
  };
}
