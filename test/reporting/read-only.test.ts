import { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { openSession } from '../engine/calls.ts';
import { type Connection, call, createQueue, receiveOne, send } from '../sql/door.ts';
import { useDatabase } from '../support/database.ts';
import { reasonAgainstReplica, startReplicatedPostgres } from './replicated-postgres.ts';

const database = useDatabase();

/** A queue of each type, with something to report in each state. */
async function fill(connection: Connection): Promise<void> {
  const dead = await createQueue(connection);
  await send(connection, dead, 'dead');
  const standard = await createQueue(connection, {
    RedrivePolicy: {
      deadLetterTargetArn: `arn:aws:sqs:us-east-1:000000000000:${dead}`,
      maxReceiveCount: 3,
    },
  });
  const fifo = await createQueue(connection, { FifoQueue: true, ContentBasedDeduplication: true });
  for (const body of ['a', 'b']) {
    await send(connection, standard, body);
    await send(connection, fifo, body, { message_group_id: 'g' });
  }
  await send(connection, standard, 'later', { delay: '15 minutes' });
  await receiveOne(connection, standard, { visibility_timeout: '1 hour' });
  await receiveOne(connection, fifo, { visibility_timeout: '1 hour' });
  await connection.query('select trunkline._settle()');
  await connection.query(
    `select trunkline._sample_statistics(clock_timestamp() - interval '4 minutes'),
      trunkline._sample_statistics()`,
  );
}

/** Every report; what moves with time left out. */
async function readEverything(connection: Connection): Promise<Record<string, object[]>> {
  const names = (await call<{ list_queues: string }>(connection, 'list_queues', {})).map(
    ({ list_queues }) => list_queues,
  );
  const reports: Record<string, object[]> = {};
  const ofViews = {
    queue_backlog:
      'queue_name, visible, in_flight, delayed, dead_letters_waiting, oldest_visible_age is null as a, oldest_in_flight_age is null as b, in_per_minute is null as c',
    message_group_backlog:
      'queue_name, message_group_id, depth, is_blocked, blocked_since, blocked_by_message_id',
    in_flight_messages: '*',
    queue_history: '*',
  };
  for (const [view, columns] of Object.entries(ofViews)) {
    const { rows } = await connection.query(
      `select ${columns} from trunkline.${view} order by 1, 2, 3`,
    );
    reports[view] = rows;
  }
  for (const queue_name of names) {
    for (const newest_first of [false, true]) {
      const messages = await call(connection, 'message_peek', { queue_name, newest_first });
      reports[`message_peek ${queue_name} ${newest_first}`] = messages.map((message) => ({
        ...message,
        age: undefined,
      }));
    }
    reports[`get_queue_attributes ${queue_name}`] = await call(connection, 'get_queue_attributes', {
      queue_name,
    });
  }
  return reports;
}

describe('every report', () => {
  it('works in a transaction that is read only', async () => {
    await fill(database.pool);
    const expected = await readEverything(database.pool);
    const session = await openSession(database);
    await session.query('set default_transaction_read_only = on');
    await session.query('begin isolation level repeatable read');
    expect(await readEverything(session)).toEqual(expected);
    const { rows } = await session.query(
      `select pg_current_xact_id_if_assigned() as id, count(*)::integer as advisory_locks
      from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`,
    );
    expect(rows).toEqual([{ id: null, advisory_locks: 0 }]);
    await session.query('commit');
    expect(Object.values(expected).every((rows) => rows.length > 0)).toBe(true);
  });

  it('works on a streaming replica', async (context) => {
    const reason = reasonAgainstReplica();
    context.skip(reason !== undefined, reason);
    const postgres = await startReplicatedPostgres();
    onTestFinished(() => postgres.stop());
    await migrate(postgres.primaryUrl);
    const primary = new Client({ connectionString: postgres.primaryUrl });
    await primary.connect();
    onTestFinished(() => primary.end());
    await fill(primary);
    const expected = await readEverything(primary);
    await postgres.catchUp();
    const replica = new Client({ connectionString: postgres.replicaUrl });
    await replica.connect();
    onTestFinished(() => replica.end());
    expect((await replica.query('select pg_is_in_recovery() as is_replica')).rows).toEqual([
      { is_replica: true },
    ]);
    expect(await readEverything(replica)).toEqual(expected);
  });
});
