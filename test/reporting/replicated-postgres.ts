import { execFile, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findFreePort } from '../../src/embedded/free-port.ts';

/** A primary and a streaming replica of it, made from the PostgreSQL that is installed. */
export interface ReplicatedPostgres {
  primaryUrl: string;
  replicaUrl: string;
  /** Resolves when the replica has replayed what the primary committed so far. */
  catchUp(): Promise<void>;
  stop(): Promise<void>;
}

const programs = ['initdb', 'postgres', 'pg_basebackup'];

/** Where Debian, and the packages of postgresql.org, put the programs that are not for everybody's path. */
const debianDirectory = '/usr/lib/postgresql';

function findPrograms(): string | undefined {
  const versions = existsSync(debianDirectory) ? readdirSync(debianDirectory).sort().reverse() : [];
  const candidates = [
    ...(process.env['PATH'] ?? '').split(':'),
    ...versions.map((version) => join(debianDirectory, version, 'bin')),
  ];
  return candidates.find((directory) =>
    programs.every((program) => existsSync(join(directory, program))),
  );
}

/** PostgreSQL refuses to run as root. */
function findAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  const idOf = (flag: string) =>
    Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** Why no replica can be made here, or undefined. */
export function reasonAgainstReplica(): string | undefined {
  if (findPrograms() === undefined) {
    return `${programs.join(', ')} are not installed`;
  }
  try {
    findAccount();
    return undefined;
  } catch {
    return 'run as root, and there is no account postgres to run PostgreSQL as';
  }
}

async function untilAnswered(url: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (attempt === 300) {
        throw error;
      }
      await sleep(50);
    }
  }
}

async function readValue(url: string, expression: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ value: string }>(`select ${expression} as value`);
    return String(rows[0]?.value);
  } finally {
    await client.end();
  }
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const bin = findPrograms() ?? '';
  const account = findAccount();
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-replica-'));
  if (account !== undefined) {
    await chown(directory, account.uid, account.gid);
  }
  const options = { cwd: directory, ...account } satisfies SpawnOptions;
  const run = (program: string, flags: string[]) =>
    promisify(execFile)(join(bin, program), flags, options);
  const servers: (() => Promise<void>)[] = [];
  const start = async (data: string, port: number) => {
    const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off' };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(
      join(bin, 'postgres'),
      ['-D', join(directory, data), '-p', String(port), ...flags],
      { ...options, stdio: 'ignore' },
    );
    const hasEnded = new Promise((resolve) => server.once('exit', resolve));
    servers.unshift(async () => {
      server.kill('SIGINT');
      await hasEnded;
    });
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    await untilAnswered(url);
    return url;
  };

  await run('initdb', [
    '-D',
    'primary',
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-sync',
  ]);
  const primaryUrl = await start('primary', await findFreePort(undefined));
  await run('pg_basebackup', ['-d', primaryUrl, '-D', 'replica', '-R', '-c', 'fast', '--no-sync']);
  const replicaUrl = await start('replica', await findFreePort(undefined));

  return {
    primaryUrl,
    replicaUrl,
    async catchUp() {
      const position = await readValue(primaryUrl, 'pg_current_wal_lsn()');
      const isThere = `pg_last_wal_replay_lsn() >= '${position}'::pg_lsn`;
      for (let attempt = 1; (await readValue(replicaUrl, isThere)) !== 'true'; attempt += 1) {
        if (attempt === 300) {
          throw new Error('The replica does not follow.');
        }
        await sleep(20);
      }
    },
    async stop() {
      for (const stopServer of servers) {
        await stopServer();
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}
