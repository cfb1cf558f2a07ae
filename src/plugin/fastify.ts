import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { Trunkline } from '../client/index.ts';
import { addQueueApi } from '../http/app.ts';
import { QueueService } from '../queue-service.ts';
import { limits } from '../sqs/limits.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The queues of the application's database. */
    trunkline: Trunkline<Pool>;
  }
}

export interface TrunklinePluginOptions {
  /**
   * The application's own, on a database that `migrate` has been run on. It stays the application's to end.
   * Its role is the one that owns the schema or, with `isApiOff`, `trunkline_app`.
   */
  pool: Pool;
  /** Path below which the SQS API is mounted; `/sqs` by default. */
  prefix?: string;
  /** Only decorate the application with the library, and mount no API; false by default. */
  isApiOff?: boolean;
  /** Base of queue URLs; the host that the client used and the prefix by default. */
  baseUrl?: string;
  /** 12 digits; 000000000000 by default. */
  accountId?: string;
  /** In ARNs; us-east-1 by default. */
  region?: string;
  /** Messages of one queue that may be in flight, by its type; 120 000 and 20 000 by default. */
  inFlightLimits?: { standard: number; fifo: number };
  /**
   * A way to the database that is not through PgBouncer, for a connection that hears of sends through other
   * servers at once. Without it they are found within a third of a second.
   */
  directDatabaseUrl?: string;
}

async function trunklinePlugin(
  app: FastifyInstance,
  { pool, prefix = '/sqs', isApiOff = false, baseUrl, ...options }: TrunklinePluginOptions,
): Promise<void> {
  app.decorate('trunkline', new Trunkline(pool));
  if (isApiOff) {
    return;
  }
  if (!/^\/./.test(prefix)) {
    // At the root, the API's answer to unknown paths would be the application's too.
    throw new Error(`The prefix must be a path such as /sqs, and is ${prefix}.`);
  }
  const service = new QueueService(pool, {
    accountId: options.accountId ?? '000000000000',
    region: options.region ?? 'us-east-1',
    inFlightLimits: options.inFlightLimits ?? {
      standard: limits.inFlightMessagesStandard,
      fifo: limits.inFlightMessagesFifo,
    },
    deletedNameCooldownSeconds: 0,
    directDatabaseUrl: options.directDatabaseUrl,
    warn: (details, message) => app.log.warn(details, message),
  });
  // Waiting polls end before Fastify waits for requests under way; the rest when there are none any more.
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
    service.endWaits();
  });
  app.addHook('onClose', () => service.close());
  await service.open().catch(explainMissingRight);

  // A scope of its own: the API's parsers and error handler are not the application's.
  const queueApi = async (scope: FastifyInstance) => {
    // Fastify closes connections that are idle when it closes. Those of waiting polls become so just after.
    scope.addHook('onSend', async (_request, reply) => {
      if (isClosing) {
        reply.header('connection', 'close');
      }
    });
    addQueueApi(scope, { services: service.services, baseUrl });
  };
  await app.register(queueApi, { prefix });
}

/** SQLSTATE insufficient_privilege. */
const insufficientPrivilege = '42501';

function explainMissingRight(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === insufficientPrivilege) {
    throw new Error(
      'The SQS API needs a pool in the role that owns the schema trunkline. With isApiOff: true the plugin only decorates the application, for which the role trunkline_app is enough.',
      { cause: error },
    );
  }
  throw error;
}

/**
 * Mounts the SQS API in a Fastify application and decorates it with `trunkline`, the library on the same pool.
 *
 * The decorator is the application's, as with every plugin made by fastify-plugin, whose marks these are.
 */
const plugin = Object.assign(trunklinePlugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'trunkline',
  [Symbol.for('plugin-meta')]: { name: 'trunkline', fastify: '5.x' },
});

export default plugin;
