import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CloseAtEnd } from './closers.ts';

const startLimitMs = 30_000;
const stopLimitMs = 10_000;

/** Ctrl-C reaches all processes of a terminal's group, and what is measured must not end before the run does. */
export const ownSession = { detached: true };

export interface Program {
  pid: number;
  url: string;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  command: string;
  args: readonly string[];
  environment?: Record<string, string>;
  /** Finds the URL in what it prints; without it, the program is ready when it takes connections on `url`. */
  readyPattern?: RegExp;
  url?: string;
}

/** Starts a server as a process of its own; undefined when it is not installed. It is stopped at the end of the run. */
export async function startProgram(
  options: ProgramOptions,
  closeAtEnd: CloseAtEnd,
): Promise<Program | undefined> {
  const child = spawn(options.command, options.args, {
    ...ownSession,
    env: { PATH: process.env['PATH'] ?? '', ...options.environment },
    // What is not read must not be written either: logging costs time, and a full pipe would stop it.
    stdio: options.readyPattern ? ['ignore', 'pipe', 'pipe'] : 'ignore',
  });
  closeAtEnd(() => endProcess(child));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      printed = (printed + chunk.toString('utf8')).slice(-10_000);
    });
  }
  let failure: NodeJS.ErrnoException | undefined;
  child.on('error', (error) => {
    failure = error;
  });

  const deadlineMs = performance.now() + startLimitMs;
  for (;;) {
    const url = options.readyPattern
      ? options.readyPattern.exec(printed)?.[1]
      : (await takesConnections(options.url ?? ''))
        ? options.url
        : undefined;
    if (url !== undefined && child.pid !== undefined) {
      return { pid: child.pid, url, stop: () => endProcess(child) };
    }
    if (failure?.code === 'ENOENT') {
      return undefined;
    }
    if (failure || hasEnded(child) || performance.now() > deadlineMs) {
      await endProcess(child);
      throw new Error(`${options.command} ${options.args.join(' ')} did not start: ${printed}`);
    }
    await sleep(20);
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) {
    return;
  }
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const killTimer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
  await ended;
  clearTimeout(killTimer);
}

function takesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Free at the moment, for a server that cannot pick one and tell. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
