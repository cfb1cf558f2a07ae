import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** The server as it is started in production: compiled, in a process of its own. */

const repository = resolve(import.meta.dirname, '../..');

export interface CompiledServer {
  main: string;
}

/** Compiles before the tests of a file, to a place from which dependencies and migrations are found. */
export function useCompiledServer(): CompiledServer {
  const compiled: CompiledServer = { main: '' };
  let directory = '';

  beforeAll(async () => {
    const cache = join(repository, 'node_modules/.cache');
    await mkdir(cache, { recursive: true });
    directory = await mkdtemp(join(cache, 'trunkline-test-'));
    for (const name of ['migrations', 'package.json']) {
      await symlink(join(repository, name), join(directory, name));
    }
    const options = {
      project: join(repository, 'tsconfig.build.json'),
      outDir: join(directory, 'dist'),
      // Only what runs; types are another check's.
      noCheck: 'true',
      declaration: 'false',
      sourceMap: 'false',
      incremental: 'false',
      tsBuildInfoFile: 'null',
    };
    const compiler = join(repository, 'node_modules/typescript/bin/tsc');
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    await promisify(execFile)(process.execPath, [compiler, ...flags]);
    compiled.main = join(directory, 'dist/main.js');
  });

  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  return compiled;
}

export interface ServerProcess {
  url: string;
  pid: number;
  /** Everything that it printed so far. */
  output(): string;
  /** Resolves with the exit code, or null when the signal ended it, once its output is closed too. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

interface Started {
  child: ChildProcess;
  output(): string;
  hasEnded: Promise<unknown>;
}

function spawnServer({ main }: CompiledServer, environment: Record<string, string>): Started {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: '0',
      LOG_LEVEL: 'warn',
      ...(process.env['PGOPTIONS'] && { PGOPTIONS: process.env['PGOPTIONS'] }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8');
    });
  }
  return { child, output: () => printed, hasEnded: once(child, 'close') };
}

const pollMs = 20;

/** Resolves when the server listens. It is ended after the test, as a shutdown would. */
export async function startServerProcess(
  compiled: CompiledServer,
  environment: Record<string, string>,
): Promise<ServerProcess> {
  const { child, output, hasEnded } = spawnServer(compiled, environment);
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await hasEnded;
    return child.exitCode;
  };
  onTestFinished(async () => {
    await kill('SIGTERM');
  });
  for (;;) {
    const url = /Trunkline listens on (http:\S+)\. Try/.exec(output())?.[1];
    if (url !== undefined) {
      return { url, pid: child.pid ?? 0, output, kill };
    }
    if (child.exitCode !== null) {
      throw new Error(`The server ended before it listened: ${output()}`);
    }
    await new Promise((resume) => setTimeout(resume, pollMs));
  }
}

/** For a server that cannot start: what it printed, and its exit code. */
export async function runServerProcess(
  compiled: CompiledServer,
  environment: Record<string, string>,
): Promise<{ output: string; exitCode: number | null }> {
  const { child, output, hasEnded } = spawnServer(compiled, environment);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await hasEnded;
  });
  await hasEnded;
  return { output: output(), exitCode: child.exitCode };
}
