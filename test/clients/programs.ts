import { spawn, spawnSync } from 'node:child_process';

/** Programs that talk to a server as their users would run them. */

export function isRunnable(program: string, ...arguments_: string[]): boolean {
  return spawnSync(program, arguments_, { stdio: 'ignore' }).status === 0;
}

/** Credentials and region of AWS tools, and nothing of the machine's own configuration. */
function awsEnvironment(endpoint: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_DEFAULT_REGION: 'us-east-1',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_ENDPOINT_URL: endpoint,
    AWS_PAGER: '',
  };
}

/** What a program printed, and how it ended. */
export interface Outcome {
  status: number | null;
  output: string;
  errors: string;
}

export function runWithAws(
  endpoint: string,
  program: string,
  arguments_: readonly string[],
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, arguments_, {
      env: awsEnvironment(endpoint),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const outcome: Outcome = { status: null, output: '', errors: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => {
      outcome.output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      outcome.errors += text;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ ...outcome, status }));
  });
}
