import { parseArgs } from 'node:util';

/** What the command line says about a run. */
export interface Options {
  name: string;
  /** Undefined: the benchmark's own. */
  seconds: number | undefined;
  jsonFile: string | undefined;
  /** The SQL file that installs pgmq, to compare with it. */
  pgmqFile: string | undefined;
  isQuick: boolean;
}

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws {UsageError} */
export function readOptions(argv: readonly string[], names: readonly string[]): Options {
  const usage = `Usage: npm run bench -- ${names.join('|')} [--seconds N] [--json FILE] [--pgmq FILE] [--quick]`;
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}\n${usage}`);
  }
  const [name, ...rest] = parsed.positionals;
  if (name === undefined || rest.length > 0 || !names.includes(name)) {
    throw new UsageError(usage);
  }
  const seconds = parsed.values.seconds === undefined ? undefined : Number(parsed.values.seconds);
  if (seconds !== undefined && !(seconds > 0)) {
    throw new UsageError(`--seconds must be a positive number\n${usage}`);
  }
  return {
    name,
    seconds,
    jsonFile: parsed.values.json,
    pgmqFile: parsed.values.pgmq,
    isQuick: parsed.values.quick === true,
  };
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      json: { type: 'string' },
      pgmq: { type: 'string' },
      quick: { type: 'boolean' },
    },
  });
}
