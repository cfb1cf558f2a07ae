import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** Node.js 20 cannot run TypeScript, and vite is here anyway. Says when it is ready, then waits to be killed. */
const SCRIPT = `
  import { runnerImport } from 'vite';
  const [module, dataDirectory] = process.argv.slice(1);
  const { startEmbeddedPostgres } = (await runnerImport(module)).module;
  const options = { dataDirectory, log: () => {}, settings: { fsync: 'off' } };
  const { connectionString } = await startEmbeddedPostgres(options);
  console.log(connectionString);
`;

export interface OwnerProcess {
  pid: number;
  connectionString: string;
  /** Ends it as a power failure would, and resolves when it is gone. */
  kill(): Promise<void>;
}

/** A separate process that runs the embedded PostgreSQL. */
export async function startOwnerProcess(dataDirectory: string): Promise<OwnerProcess> {
  const module = fileURLToPath(new URL('../../src/embedded/index.ts', import.meta.url));
  const options = ['--input-type=module', '--eval', SCRIPT, module, dataDirectory];
  const child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  for await (const line of createInterface({ input: child.stdout })) {
    return { pid: child.pid ?? 0, connectionString: line, kill };
  }
  throw new Error('The process ended before its PostgreSQL was ready.');
}
