import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, onTestFinished } from 'vitest';
import { useCompiledServer } from '../crash/compiled-server.ts';

/** Programs that use the package as its users do: compiled, by its name, in a process of their own. */

const repository = resolve(import.meta.dirname, '../..');

export interface CompiledPackage {
  /** Where programs find `trunkline` by its name. The examples are there too. */
  directory: string;
}

/** Compiles the package before the tests of a file, and copies the examples beside it. */
export function useCompiledPackage(): CompiledPackage {
  const compiled = useCompiledServer();
  const handle: CompiledPackage = { directory: '' };
  beforeAll(async () => {
    handle.directory = dirname(dirname(compiled.main));
    await cp(join(repository, 'examples'), join(handle.directory, 'examples'), { recursive: true });
  });
  return handle;
}

export interface Program {
  child: ChildProcess;
  /** What it printed to either stream so far. */
  output(): string;
  /** Its exit code, or null when a signal ended it. */
  ended: Promise<number | null>;
}

/** Starts a program, which is killed after the test if it still runs. */
export function startProgram(
  command: string,
  arguments_: readonly string[],
  options: { cwd?: string; databaseUrl?: string } = {},
): Program {
  const child = spawn(command, arguments_, {
    cwd: options.cwd ?? repository,
    env: { ...process.env, DATABASE_URL: options.databaseUrl ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const ended = once(child, 'close').then(() => child.exitCode);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => printed, ended };
}

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}
