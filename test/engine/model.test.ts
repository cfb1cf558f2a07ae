import fc from 'fast-check';
import { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import {
  changeVisibility,
  clearDiscardedQueues,
  countMessages,
  createQueue,
  deleteMessages,
  deleteQueue,
  expireMessages,
  inFlightQuota,
  purgeQueue,
  type QueueAttributes,
  receive,
  rescan,
  send,
  setAttributes,
  settle,
} from './calls.ts';
import { StandardQueueModel } from './model.ts';

/**
 * Random commands of several clients, in and out of transactions, with the background services at any moment
 * and time moved by hand: the SQL functions have to do what the model does.
 */

const database = useDatabase();
const clients = ['ann', 'bob', 'cid'] as const;
type ClientName = (typeof clients)[number];

const sessions = new Map<ClientName, Client>();

function session(client: ClientName): Client {
  const found = sessions.get(client);
  if (found === undefined) {
    throw new Error(`${client} has no session.`);
  }
  return found;
}

beforeAll(async () => {
  for (const name of clients) {
    const client = new Client({ connectionString: database.url, application_name: name });
    await client.connect();
    // The model says when a statement would have to wait: none does.
    await client.query(`set lock_timeout = '2s'`);
    sessions.set(name, client);
  }
});

afterAll(async () => {
  await Promise.all([...sessions.values()].map((client) => client.end()));
});

interface Real {
  queueId: string;
}

type Command = fc.AsyncCommand<StandardQueueModel, Real>;

interface Step {
  text: string;
  isPossible?: (model: StandardQueueModel) => boolean;
  run: (model: StandardQueueModel, real: Real, now: Date) => Promise<void>;
}

function command({ text, isPossible = () => true, run }: Step): Command {
  return {
    check: isPossible,
    run: (model, real) => run(model, real, new Date(model.nowMs)),
    toString: () => text,
  };
}

const anyClient = fc.constantFrom(...clients);
const anyHandles = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 3 });

function pickHandle(model: StandardQueueModel, index: number): string {
  const { handles } = model;
  // From the latest, where most of what can go wrong is.
  return handles[handles.length - 1 - (index % handles.length)] ?? '';
}

function canUseHandles(
  model: StandardQueueModel,
  client: ClientName,
  indexes: readonly number[],
): boolean {
  return (
    model.handles.length > 0 &&
    indexes.every((index) => !model.isLocked(client, pickHandle(model, index)))
  );
}

const sends = fc
  .tuple(
    anyClient,
    fc.array(fc.constantFrom(undefined, 0, 1, 60, 900), { minLength: 1, maxLength: 3 }),
  )
  .map(([client, delays]) =>
    command({
      text: `${client} sends with delays ${delays.map((delay) => delay ?? 'of the queue')}`,
      async run(model, real, now) {
        const ids = await send(
          session(client),
          real.queueId,
          delays.map(() => 'body'),
          { delaysSeconds: delays, now },
        );
        model.send(client, ids, delays);
      },
    }),
  );

const receives = fc
  .tuple(
    anyClient,
    fc.integer({ min: 1, max: 4 }),
    fc.constantFrom(undefined, 0, 1, 30, 43_200),
    fc.constantFrom(inFlightQuota, inFlightQuota, 2, 5),
  )
  .map(([client, limit, visibilityTimeoutSeconds, inFlightLimit]) =>
    command({
      text: `${client} receives ${limit} for ${visibilityTimeoutSeconds ?? "the queue's timeout"}, in-flight limit ${inFlightLimit}`,
      // An error would end the transaction.
      isPossible: (model) => !model.isInTransaction(client) || inFlightLimit === inFlightQuota,
      async run(model, real, now) {
        const options = { limit, visibilityTimeoutSeconds, inFlightLimit, now };
        const room = model.room(client, inFlightLimit);
        if (room <= 0) {
          await expect(receive(session(client), real.queueId, options)).rejects.toMatchObject({
            code: 'TQ002',
          });
          return;
        }
        const received = await receive(session(client), real.queueId, options);
        const answer = received.map((message) => ({
          messageId: message.messageId,
          receiptHandle: message.receiptHandle,
          receiveCount: message.receiveCount,
          sentAtMs: message.sentAt.getTime(),
          firstReceivedAtMs: message.firstReceivedAt.getTime(),
        }));
        model.receive(client, Math.min(limit, room), visibilityTimeoutSeconds, answer);
      },
    }),
  );

const deletes = fc.tuple(anyClient, anyHandles).map(([client, indexes]) =>
  command({
    text: `${client} deletes by handles ${indexes} from the last`,
    isPossible: (model) => canUseHandles(model, client, indexes),
    async run(model, real) {
      const handles = indexes.map((index) => pickHandle(model, index));
      const outcomes = await deleteMessages(session(client), real.queueId, handles);
      expect(outcomes).toEqual(model.delete(client, handles));
    },
  }),
);

const changes = fc
  .tuple(anyClient, anyHandles, fc.constantFrom(0, 0, 5, 30, 43_195, 43_200))
  .map(([client, indexes, timeoutSeconds]) =>
    command({
      text: `${client} changes visibility to ${timeoutSeconds} by handles ${indexes} from the last`,
      isPossible: (model) => canUseHandles(model, client, indexes),
      async run(model, real, now) {
        const entries = indexes.map((index, position) => ({
          receiptHandle: pickHandle(model, index),
          timeoutSeconds: timeoutSeconds + position,
        }));
        const outcomes = await changeVisibility(session(client), real.queueId, entries, now);
        expect(outcomes).toEqual(model.changeVisibility(client, entries));
      },
    }),
  );

const transactions = fc
  .tuple(anyClient, fc.constantFrom('begin', 'commit', 'rollback'))
  .map(([client, verb]) =>
    command({
      text: `${client}: ${verb}`,
      isPossible: (model) => model.isInTransaction(client) === (verb !== 'begin'),
      async run(model) {
        await session(client).query(verb);
        model[verb](client);
      },
    }),
  );

const hourMs = 3_600_000;
const waits = fc.constantFrom(0, 1, 999, 1_000, 30_000, 60_000, hourMs, 12 * hourMs).map((ms) =>
  command({
    text: `${ms} ms pass`,
    async run(model) {
      model.nowMs += ms;
    },
  }),
);

const settles = fc.constant(
  command({
    text: 'settle',
    async run(_model, _real, now) {
      await settle(database.pool, now);
    },
  }),
);

const rescans = fc.constant(
  command({
    text: 'rescan',
    async run() {
      expect(await rescan(database.pool)).toEqual([]);
    },
  }),
);

const expiries = fc.integer({ min: 1, max: 4 }).map((limit) =>
  command({
    text: `expire ${limit}`,
    async run(model, _real, now) {
      expect(await expireMessages(database.pool, limit, now)).toBe(model.expire(limit));
    },
  }),
);

const clearings = fc.constant(
  command({
    text: 'clear discarded queues',
    async run(_model, _real, now) {
      await clearDiscardedQueues(database.pool, 100, now);
    },
  }),
);

const purges = fc.constant(
  command({
    text: 'purge',
    async run(model, real, now) {
      try {
        real.queueId = await purgeQueue(database.pool, real.queueId, now);
        expect(model.purge()).toBe(true);
      } catch (error) {
        expect(error instanceof DatabaseError && error.code).toBe('TQ003');
        expect(model.purge()).toBe(false);
      }
    },
  }),
);

const anySettings: fc.Arbitrary<QueueAttributes> = fc.record({
  visibility_timeout_seconds: fc.constantFrom(0, 1, 30, 43_200),
  delay_seconds: fc.constantFrom(0, 0, 1, 900),
  message_retention_seconds: fc.constantFrom(60, 3_600, 345_600),
});

const reconfigurations = anySettings.map((settings) =>
  command({
    text: `set ${JSON.stringify(settings)}`,
    async run(model, real) {
      await setAttributes(database.pool, real.queueId, settings);
      model.settings = settings;
    },
  }),
);

const countings = anyClient.map((client) =>
  command({
    text: `${client} counts`,
    async run(model, real, now) {
      expect(await countMessages(session(client), real.queueId, now)).toEqual(model.counts(client));
    },
  }),
);

// Some more than once, which makes them more likely.
const anyCommands = fc.commands(
  [
    sends,
    sends,
    receives,
    receives,
    receives,
    deletes,
    changes,
    transactions,
    transactions,
    waits,
    waits,
    settles,
    settles,
    settles,
    rescans,
    expiries,
    clearings,
    purges,
    reconfigurations,
    countings,
  ],
  { maxCommands: 80, size: 'max' },
);

/** After everything: whoever waits long enough gets all that is left. */
async function receiveTheRest(model: StandardQueueModel, real: Real): Promise<void> {
  for (const client of clients) {
    if (model.isInTransaction(client)) {
      await session(client).query('commit');
      model.commit(client);
    }
  }
  for (const passedMs of [0, 900_000, 12 * hourMs]) {
    model.nowMs += passedMs;
    const now = new Date(model.nowMs);
    await settle(database.pool, now);
    expect(await countMessages(database.pool, real.queueId, now)).toEqual(model.counts('ann'));
    const received = await receive(session('ann'), real.queueId, { limit: 1_000, now });
    const answer = received.map((message) => ({
      messageId: message.messageId,
      receiptHandle: message.receiptHandle,
      receiveCount: message.receiveCount,
      sentAtMs: message.sentAt.getTime(),
      firstReceivedAtMs: message.firstReceivedAt.getTime(),
    }));
    model.receive('ann', 1_000, undefined, answer);
  }
}

it('does what the model of a standard queue does', { timeout: 120_000 }, async () => {
  // Settled time never goes back, so each run begins where the one before ended.
  let clockMs = Date.UTC(2030, 0);
  await fc.assert(
    fc.asyncProperty(anySettings, anyCommands, async (settings, commands) => {
      const queueId = await createQueue(database.pool, settings);
      const real = { queueId };
      const model = new StandardQueueModel(clockMs, settings);
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await receiveTheRest(model, real);
      } finally {
        clockMs = model.nowMs + 1_000;
        await Promise.all(clients.map((client) => session(client).query('rollback')));
        await deleteQueue(database.pool, real.queueId, new Date(model.nowMs));
      }
    }),
    { numRuns: 200 },
  );
});
