import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Several server processes, the workers, that share one port: JavaScript runs on one core, so one process cannot
 * use a machine with many. The first process prepares the database, hands out connections, and answers no request.
 *
 * The state is all in the database, so to each other workers are like servers on different machines.
 */
export interface WorkersOptions {
  count: number;
  host: string;
  /** 0: any free port, the same for all. */
  port: number;
  /** Migrated. Workers get it through their environment. */
  databaseUrl: string;
  /** How long a worker may take to finish its work at the end, before it is killed. */
  finishLimitMs: number;
  log(message: string): void;
  /** Ends the workers, also those that are just starting. */
  signal: AbortSignal;
}

export interface Workers {
  url: string;
  /** Lets each worker finish the work in hand, and resolves when none is left. */
  close(): Promise<void>;
}

/** A worker ended before it listened. It has said why, if it could. */
export class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError';
}

/** So that one that ends again and again does not keep a core busy. The others answer meanwhile. */
const replacePauseMs = 1_000;

export const isWorker = cluster.isWorker;

/** To be called in a worker. */
export function reportListening(url: string): void {
  cluster.worker?.send(url);
}

/**
 * Starts the workers and keeps their number: one that ends is replaced.
 *
 * @throws {WorkerStartError} when one cannot start; none is left then
 */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { count, finishLimitMs, log, signal } = options;
  const port = await findPort(options.host, options.port);
  const environment = { DATABASE_URL: options.databaseUrl, PORT: String(port) };
  const running = new Set<Worker>();
  let closed: Promise<void> | undefined;

  function fork(): Worker {
    signal.throwIfAborted();
    const worker = cluster.fork(environment);
    running.add(worker);
    worker.once('exit', () => running.delete(worker));
    return worker;
  }

  function replaceWhenEnded(worker: Worker): void {
    worker.once('exit', (exitCode, endedBy) => {
      if (closed !== undefined) {
        return;
      }
      const { pid } = worker.process;
      log(`Server process ${pid} ended (${reasonOf(exitCode, endedBy)}); another takes its place.`);
      setTimeout(() => {
        if (closed === undefined) {
          replaceWhenEnded(fork());
        }
      }, replacePauseMs);
    });
  }

  async function startOne(): Promise<string> {
    const worker = fork();
    const url = await untilListening(worker);
    replaceWhenEnded(worker);
    return url;
  }

  async function end(worker: Worker): Promise<void> {
    const ended = once(worker, 'exit');
    worker.process.kill('SIGTERM');
    const limit = setTimeout(() => {
      log(`Server process ${worker.process.pid} did not finish in time and is killed.`);
      worker.process.kill('SIGKILL');
    }, finishLimitMs);
    await ended;
    clearTimeout(limit);
  }

  async function close(): Promise<void> {
    closed ??= Promise.all([...running].map(end)).then(() => {});
    await closed;
  }

  signal.addEventListener('abort', close, { once: true });
  try {
    // The first one alone: what keeps it from listening would keep all of them, and is said once.
    const url = await startOne();
    await Promise.all(Array.from({ length: count - 1 }, startOne));
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The port, or with 0 one that is free now. Were workers given the 0, those that come when no other is left
 * would get another port. A port that is taken is found here, with the error of a single server.
 */
async function findPort(host: string, port: number): Promise<number> {
  const probe = createServer();
  probe.listen({ host, port });
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}

function untilListening(worker: Worker): Promise<string> {
  return new Promise((resolve, reject) => {
    worker.once('message', (url: string) => resolve(url));
    worker.once('exit', (exitCode, endedBy) => {
      const reason = reasonOf(exitCode, endedBy);
      reject(new WorkerStartError(`A server process could not start (${reason}).`));
    });
  });
}

/** Node.js gives the signal where there was one, and null as the exit code. */
function reasonOf(exitCode: number | null, signal: string | null): string {
  return signal ?? `exit code ${exitCode}`;
}
