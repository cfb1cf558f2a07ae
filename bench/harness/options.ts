import { resolve } from 'node:path';
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

/** Something to put right by whoever started the run; the message says all. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Undefined: help is asked for.
 * @throws {UsageError}
 */
export function readOptions(
  argv: readonly string[],
  names: readonly string[],
  usage: string,
): Options | undefined {
  const refuse = (reason: string) => new UsageError(`${reason}\n${usage}`);
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (error) {
    throw refuse(reasonOf(error));
  }
  const { positionals, values } = parsed;
  if (values.help) {
    return undefined;
  }
  const [name, unexpected] = positionals;
  if (name === undefined) {
    throw new UsageError(usage);
  }
  if (!names.includes(name)) {
    throw refuse(`There is no benchmark ${name}.`);
  }
  if (unexpected !== undefined) {
    throw refuse(`One benchmark at a time: ${unexpected} is too many.`);
  }
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  if (seconds !== undefined && !(seconds > 0)) {
    throw refuse('--seconds must be a positive number.');
  }
  if (values.pgmq !== undefined && name !== 'sql') {
    throw refuse('--pgmq is for the benchmark sql only.');
  }
  return {
    name,
    seconds,
    jsonFile: fromCaller(values.json),
    pgmqFile: fromCaller(values.pgmq),
    isQuick: values.quick === true,
  };
}

/** npm runs a script in the directory of package.json, wherever it was called itself. */
function fromCaller(file: string | undefined): string | undefined {
  return file === undefined ? undefined : resolve(process.env['INIT_CWD'] ?? '', file);
}

/** Of an error that several addresses of a host gave, the message is empty. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  return error.message || ('code' in error ? String(error.code) : error.name);
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
      help: { type: 'boolean' },
    },
  });
}
