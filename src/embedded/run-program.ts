import { spawn } from 'node:child_process';
import type { Account } from './account.ts';

const MAX_OUTPUT_LENGTH = 64 * 1024;

export interface ProgramResult {
  succeeded: boolean;
  /** The end of what it wrote, standard output and standard error together. */
  output: string;
}

/** Runs one of PostgreSQL's programs to its end; a program that cannot be started throws. */
export async function runProgram(
  program: string,
  programArguments: string[],
  {
    account,
    input = '',
    limitMs,
  }: { account: Account | undefined; input?: string; limitMs: number },
): Promise<ProgramResult> {
  const child = spawn(program, programArguments, {
    ...spawnOptions(account),
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let output = '';
  const collect = (chunk: string) => {
    output = (output + chunk).slice(-MAX_OUTPUT_LENGTH);
  };
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  child.stdin.on('error', (error) => collect(`${error.message}\n`));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal !== null) collect(`Ended by ${signal}.\n`);
      resolve({ succeeded: code === 0, output: output.trim() });
    });
  });
}

/**
 * How PostgreSQL's programs are started: as the account, in a directory it can enter, and without the PG*
 * variables of someone's shell, which would change the port or the data directory. English messages,
 * since some are matched.
 */
export function spawnOptions(account: Account | undefined) {
  const environment: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ['PATH', 'TZ', 'LD_LIBRARY_PATH']) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return {
    cwd: '/',
    env: environment,
    ...(account !== undefined && { uid: account.uid, gid: account.gid }),
  };
}
