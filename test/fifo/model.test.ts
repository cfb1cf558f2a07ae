import fc from 'fast-check';
import { Client, DatabaseError } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  clearDiscardedQueues,
  countMessages,
  deleteQueue,
  expireMessages,
  purgeQueue,
  rescan,
  settle,
} from '../engine/calls.ts';
import { useDatabase } from '../support/database.ts';
import {
  changeVisibility,
  configure,
  createFifoQueue,
  type Delivery,
  deleteAll,
  forgetHistory,
  inFlightQuota,
  receive,
  sendAll,
} from './calls.ts';
import { type Entry, FifoQueueModel, type ModelSettings } from './model.ts';

/**
 * Random commands, with the background services at any moment and time moved by hand: the SQL functions have
 * to do what the model does. Ann sends in transactions that stay open while all else goes on.
 */

const database = useDatabase();
let ann: Client;
let others: Client;

beforeAll(async () => {
  [ann, others] = await Promise.all([openClient('ann'), openClient('others')]);
});

afterAll(() => Promise.all([ann.end(), others.end()]));

async function openClient(name: string): Promise<Client> {
  const client = new Client({ connectionString: database.url, application_name: name });
  await client.connect();
  // The model says when a statement would have to wait: none does.
  await client.query(`set lock_timeout = '2s'`);
  return client;
}

interface Real {
  queueId: string;
}

type Command = fc.AsyncCommand<FifoQueueModel, Real>;

interface Step {
  text: string;
  isPossible?: (model: FifoQueueModel) => boolean;
  run: (model: FifoQueueModel, real: Real, now: Date) => Promise<void>;
}

function command({ text, isPossible = () => true, run }: Step): Command {
  return {
    check: isPossible,
    run: (model, real) => run(model, real, new Date(model.nowMs)),
    toString: () => text,
  };
}

const anyEntries = fc.array(
  fc.record({
    group: fc.constantFrom('g', 'g', 'h', 'i'),
    // Few enough to meet again, and many enough to go on.
    deduplicationId: fc.option(
      fc.integer({ min: 1, max: 12 }).map((id) => `d${id}`),
      { freq: 5 },
    ),
    body: fc.integer({ min: 1, max: 6 }).map((body) => `body ${body}`),
  }),
  { minLength: 1, maxLength: 4 },
);

function describeEntries(entries: readonly Entry[]): string {
  return entries
    .map(({ group, deduplicationId, body }) => `${group}:${deduplicationId ?? body}`)
    .join(' ');
}

const sends = anyEntries.map((entries) =>
  command({
    text: `send ${describeEntries(entries)}`,
    isPossible: (model) => model.isBusy(entries) || !model.wouldWait(entries),
    async run(model, real, now) {
      const sent = sendAll(others, real.queueId, entries, { mayWait: false, now });
      if (model.isBusy(entries)) {
        await expect(sent).rejects.toMatchObject({ code: 'TQ006' });
      } else {
        model.send(false, entries, await sent);
      }
    },
  }),
);

const sendsOfAnn = anyEntries.map((entries) =>
  command({
    text: `ann sends ${describeEntries(entries)}`,
    async run(model, real, now) {
      model.send(true, entries, await sendAll(ann, real.queueId, entries, { now }));
    },
  }),
);

const transactions = fc.constantFrom('begin', 'commit', 'commit', 'rollback').map((verb) =>
  command({
    text: `ann: ${verb}`,
    isPossible: (model) => model.isAnnInTransaction === (verb !== 'begin'),
    async run(model) {
      await ann.query(verb);
      model[verb]();
    },
  }),
);

const receives = fc
  .tuple(
    fc.integer({ min: 1, max: 6 }),
    fc.constantFrom(undefined, 0, 1, 30, 43_200),
    fc.constantFrom(inFlightQuota, inFlightQuota, 2, 5),
    fc.constantFrom(undefined, undefined, 'a', 'b'),
  )
  .map(([limit, visibilityTimeoutSeconds, inFlightLimit, attemptId]) =>
    command({
      text: `receive ${limit} for ${visibilityTimeoutSeconds ?? "the queue's timeout"}, in-flight limit ${inFlightLimit}, attempt ${attemptId}`,
      async run(model, real, now) {
        const options = { limit, visibilityTimeoutSeconds, inFlightLimit, attemptId, now };
        const received = receive(others, real.queueId, options);
        if (model.isRefused(attemptId)) {
          await expect(received).rejects.toMatchObject({ code: 'TQ005' });
        } else {
          model.receive(limit, visibilityTimeoutSeconds, inFlightLimit, attemptId, await received);
        }
      },
    }),
  );

const anyHandles = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 3 });

function pickHandle(model: FifoQueueModel, index: number): string {
  const { handles } = model;
  // From the latest, where most of what can go wrong is.
  return handles[handles.length - 1 - (index % Math.min(handles.length, 12))] ?? '';
}

const deletes = fc.tuple(anyHandles, fc.boolean()).map(([indexes, isOwnTransaction]) =>
  command({
    text: `delete by handles ${indexes} from the last${isOwnTransaction ? '' : ', as an application'}`,
    isPossible: (model) => model.handles.length > 0,
    async run(model, real, now) {
      const handles = indexes.map((index) => pickHandle(model, index));
      const outcomes = await deleteAll(others, real.queueId, handles, { isOwnTransaction, now });
      expect(outcomes).toEqual(model.delete(handles));
    },
  }),
);

const changes = fc
  .tuple(anyHandles, fc.constantFrom(0, 0, 5, 30, 43_195, 43_200))
  .map(([indexes, timeoutSeconds]) =>
    command({
      text: `change visibility to ${timeoutSeconds} by handles ${indexes} from the last`,
      isPossible: (model) => model.handles.length > 0,
      async run(model, real, now) {
        const entries = indexes.map((index, position) => ({
          receiptHandle: pickHandle(model, index),
          timeoutSeconds: timeoutSeconds + position,
        }));
        const outcomes = await changeVisibility(others, real.queueId, entries, now);
        expect(outcomes).toEqual(model.changeVisibility(entries));
      },
    }),
  );

const hourMs = 3_600_000;
const waits = fc
  .constantFrom(0, 1, 999, 1_000, 30_000, 60_000, 299_999, 300_000, hourMs, 12 * hourMs)
  .map((ms) =>
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
      await settle(others, now);
    },
  }),
);

const rescans = fc.constant(
  command({
    text: 'rescan',
    async run(_model, real) {
      const lowered = await rescan(others);
      expect(lowered).not.toContain(real.queueId);
    },
  }),
);

async function storedMessages(real: Real): Promise<Set<string>> {
  const { rows } = await others.query<{ message_id: string }>(
    'select message_id from trunkline.messages where queue_id = $1',
    [real.queueId],
  );
  return new Set(rows.map((row) => row.message_id));
}

const expiries = fc.integer({ min: 1, max: 4 }).map((limit) =>
  command({
    text: `expire ${limit}`,
    async run(model, real, now) {
      const removed = await expireMessages(others, limit, now);
      expect(removed).toBe(model.expire(limit, await storedMessages(real)));
    },
  }),
);

const forgettings = fc.constantFrom(1, 100).map((limit) =>
  command({
    text: `forget ${limit} of the history`,
    async run(_model, _real, now) {
      await forgetHistory(others, limit, now);
    },
  }),
);

const clearings = fc.constant(
  command({
    text: 'clear discarded queues',
    async run(_model, _real, now) {
      await clearDiscardedQueues(others, 100, now);
    },
  }),
);

const purges = fc.constant(
  command({
    text: 'purge',
    isPossible: (model) => !model.isAnnInTransaction,
    async run(model, real, now) {
      try {
        real.queueId = await purgeQueue(others, real.queueId, now);
        expect(model.purge()).toBe(true);
      } catch (error) {
        expect(error instanceof DatabaseError && error.code).toBe('TQ003');
        expect(model.purge()).toBe(false);
      }
    },
  }),
);

const anySettings: fc.Arbitrary<ModelSettings> = fc.record({
  visibility_timeout_seconds: fc.constantFrom(0, 1, 30, 43_200),
  delay_seconds: fc.constantFrom(0, 0, 0, 1, 900),
  message_retention_seconds: fc.constantFrom(60, 3_600, 345_600, 345_600),
  content_based_deduplication: fc.boolean(),
  deduplication_scope: fc.constantFrom('queue', 'messageGroup'),
});

const reconfigurations = anySettings.map(
  ({ visibility_timeout_seconds, delay_seconds, content_based_deduplication }) => {
    const changed = { visibility_timeout_seconds, delay_seconds, content_based_deduplication };
    return command({
      text: `set ${JSON.stringify(changed)}`,
      async run(model, real) {
        await configure(others, real.queueId, changed);
        model.settings = { ...model.settings, ...changed };
      },
    });
  },
);

const countings = fc.constant(
  command({
    text: 'count',
    async run(model, real, now) {
      expect(await countMessages(others, real.queueId, now)).toEqual(model.counts());
    },
  }),
);

// Some more than once, which makes them more likely.
const anyCommands = fc.commands(
  [
    sends,
    sends,
    sends,
    sendsOfAnn,
    transactions,
    transactions,
    receives,
    receives,
    receives,
    receives,
    deletes,
    deletes,
    changes,
    waits,
    waits,
    settles,
    rescans,
    expiries,
    forgettings,
    forgettings,
    clearings,
    purges,
    reconfigurations,
    countings,
  ],
  { maxCommands: 100, size: 'max' },
);

/** After everything: whoever waits long enough gets all that is left, and no trace of it remains. */
async function receiveTheRest(model: FifoQueueModel, real: Real): Promise<void> {
  if (model.isAnnInTransaction) {
    await ann.query('commit');
    model.commit();
  }
  for (const passedMs of [0, 900_000, 12 * hourMs + 3_000]) {
    model.nowMs += passedMs;
    const now = new Date(model.nowMs);
    await settle(others, now);
    const removed = await expireMessages(others, 1_000, now);
    expect(removed).toBe(model.expire(1_000, await storedMessages(real)));
    expect(await countMessages(others, real.queueId, now)).toEqual(model.counts());
    let received: Delivery[];
    do {
      received = await receive(others, real.queueId, {
        limit: 7,
        visibilityTimeoutSeconds: 60,
        now,
      });
      model.receive(7, 60, inFlightQuota, undefined, received);
      const handles = received.map(({ receiptHandle }) => receiptHandle);
      expect(await deleteAll(others, real.queueId, handles, { now })).toEqual(
        model.delete(handles),
      );
    } while (received.length > 0);
  }
  expect(model.isEmpty).toBe(true);
  // Groups are seen to be empty, and a minute later they go.
  for (const seconds of [300, 360]) {
    await forgetHistory(others, 1_000, new Date(model.nowMs + seconds * 1000));
  }
  for (const table of [
    'messages',
    'message_groups',
    'message_group_names',
    'deduplications',
    'receive_attempts',
  ]) {
    const { rows } = await others.query(`select from trunkline.${table} where queue_id = $1`, [
      real.queueId,
    ]);
    expect({ table, left: rows.length }).toEqual({ table, left: 0 });
  }
}

it('does what the model of a FIFO queue does', { timeout: 120_000 }, async () => {
  // Settled time never goes back, so each run begins where the one before ended.
  let clockMs = Date.UTC(2030, 0);
  await fc.assert(
    fc.asyncProperty(anySettings, anyCommands, async (settings, commands) => {
      const real = { queueId: await createFifoQueue(others, settings) };
      const model = new FifoQueueModel(clockMs, settings);
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await receiveTheRest(model, real);
      } finally {
        clockMs = model.nowMs + 1_000;
        await ann.query('rollback');
        await deleteQueue(others, real.queueId, new Date(model.nowMs));
      }
    }),
    // As many as the time allows: some hundreds on an idle machine.
    { numRuns: 1_000, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
  );
});
