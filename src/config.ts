import { isIP } from 'node:net';
import { cleanEnv, EnvError, makeValidator, str } from 'envalid';
import { limits } from './sqs/limits.ts';

/** Everything that can be set from outside. README.md has the table. */
export interface Config {
  host: string;
  port: number;
  /** Server processes that share the port. */
  workerCount: number;
  /** Undefined: the embedded PostgreSQL in dataDirectory. */
  databaseUrl: string | undefined;
  /** For LISTEN, where databaseUrl leads through a pooler. */
  directDatabaseUrl: string | undefined;
  databaseWaitMs: number;
  /** Of each process. */
  poolSize: number;
  dataDirectory: string;
  baseUrl: string | undefined;
  accountId: string;
  region: string;
  deletedNameCooldownSeconds: number;
  /** Messages of one queue that may be in flight, by its type. */
  inFlightLimits: { standard: number; fifo: number };
  logLevel: string;
}

/** A setting is wrong. The message names it and says what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** envalid's own takes many more words for yes and does not say which. */
const flag = makeValidator<boolean>((input) => {
  if (input !== 'true' && input !== 'false') {
    throw new EnvError('must be true or false');
  }
  return input === 'true';
});

function matching(form: RegExp, allowed: string) {
  return makeValidator<string>((input) => {
    if (!form.test(input)) {
      throw new EnvError(`must be ${allowed}`);
    }
    return input;
  });
}

function integerBetween(minimum: number, maximum: number) {
  return makeValidator<number>((input) => {
    const value = Number(input);
    if (!Number.isInteger(value) || value < minimum || value > maximum) {
      throw new EnvError(`must be a whole number from ${minimum} to ${maximum}`);
    }
    return value;
  });
}

const hostName = matching(/^[A-Za-z0-9.:_-]+$/, 'a host name or an IP address');
const accountId = matching(/^\d{12}$/, '12 digits');
const region = matching(/^[a-z0-9-]+$/, 'a region name such as us-east-1');
const httpUrl = matching(
  /^https?:\/\/[^/?#\s]+[^?#\s]*$/,
  'a URL such as https://queue.example.com',
);
const postgresUrl = makeValidator<string>((input) => {
  if (!/^postgres(ql)?:\/\//.test(input) || !URL.canParse(input)) {
    throw new EnvError(
      'must be a URL such as postgresql://user:password@host:5432/database, in which special characters are escaped (# as %23)',
    );
  }
  return input;
});

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Reads the settings from the environment.
 *
 * @throws {ConfigError} naming every wrong setting
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  // An empty setting, as compose files leave behind, is none.
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const settings = cleanEnv(
    given,
    {
      HOST: hostName({ default: '127.0.0.1' }),
      PORT: integerBetween(0, 65_535)({ default: 9324 }),
      TRUNKLINE_WORKERS: integerBetween(1, 64)({ default: 1 }),
      DATABASE_URL: postgresUrl({ default: undefined }),
      TRUNKLINE_DIRECT_DATABASE_URL: postgresUrl({ default: undefined }),
      TRUNKLINE_DATABASE_WAIT_SECONDS: integerBetween(0, 3_600)({ default: 30 }),
      TRUNKLINE_POOL_SIZE: integerBetween(1, 1_000)({ default: 10 }),
      TRUNKLINE_DATA_DIR: str({ default: '.trunkline' }),
      TRUNKLINE_BASE_URL: httpUrl({ default: undefined }),
      TRUNKLINE_ACCOUNT_ID: accountId({ default: '000000000000' }),
      TRUNKLINE_REGION: region({ default: 'us-east-1' }),
      TRUNKLINE_ALLOW_ANONYMOUS: flag({ default: false }),
      TRUNKLINE_DELETED_NAME_COOLDOWN_SECONDS: integerBetween(0, 60)({ default: 0 }),
      TRUNKLINE_IN_FLIGHT_LIMIT_STANDARD: integerBetween(
        1,
        1_000_000_000,
      )({
        default: limits.inFlightMessagesStandard,
      }),
      TRUNKLINE_IN_FLIGHT_LIMIT_FIFO: integerBetween(
        1,
        1_000_000_000,
      )({
        default: limits.inFlightMessagesFifo,
      }),
      LOG_LEVEL: str({ choices: logLevels, default: 'info' }),
    },
    {
      reporter: ({ errors }) => {
        const wrong = Object.entries(errors).map(([name, error]) => {
          const allowed =
            name === 'LOG_LEVEL' ? `must be one of ${logLevels.join(', ')}` : error?.message;
          // A URL may hold a password.
          const setting = name.endsWith('URL') ? name : `${name}=${given[name]}`;
          return `${setting}: ${allowed}`;
        });
        if (wrong.length > 0) {
          throw new ConfigError(`Wrong settings in the environment:\n  ${wrong.join('\n  ')}`);
        }
      },
    },
  );

  if (!isLoopback(settings.HOST) && !settings.TRUNKLINE_ALLOW_ANONYMOUS) {
    throw new ConfigError(
      `HOST=${settings.HOST} would let anybody on the network use the queues, because this server does not check credentials. Listen on 127.0.0.1, or set TRUNKLINE_ALLOW_ANONYMOUS=true if the network is closed to others.`,
    );
  }
  return Object.freeze({
    host: settings.HOST,
    port: settings.PORT,
    workerCount: settings.TRUNKLINE_WORKERS,
    databaseUrl: settings.DATABASE_URL,
    directDatabaseUrl: settings.TRUNKLINE_DIRECT_DATABASE_URL,
    databaseWaitMs: settings.TRUNKLINE_DATABASE_WAIT_SECONDS * 1000,
    poolSize: settings.TRUNKLINE_POOL_SIZE,
    dataDirectory: settings.TRUNKLINE_DATA_DIR,
    baseUrl: settings.TRUNKLINE_BASE_URL?.replace(/\/+$/, ''),
    accountId: settings.TRUNKLINE_ACCOUNT_ID,
    region: settings.TRUNKLINE_REGION,
    deletedNameCooldownSeconds: settings.TRUNKLINE_DELETED_NAME_COOLDOWN_SECONDS,
    inFlightLimits: {
      standard: settings.TRUNKLINE_IN_FLIGHT_LIMIT_STANDARD,
      fifo: settings.TRUNKLINE_IN_FLIGHT_LIMIT_FIFO,
    },
    logLevel: settings.LOG_LEVEL,
  });
}
