import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Benchmark } from './harness/benchmark.ts';
import { openClient } from './harness/postgres.ts';
import { peakMemoryMb, startTrunkline } from './harness/trunkline-server.ts';
import { SqsConnection } from './http/sqs-connection.ts';

const fifoGroups = 100;

/** A mix of everything for a long time, at a steady pace: tables, indexes and memory must not grow. */
export const soak: Benchmark = {
  seconds: 3_600,
  quickSeconds: 20,
  async run(run) {
    const databaseUrl = await run.postgres.createDatabase('soak');
    const server = await startTrunkline(databaseUrl, run.closeAtEnd);
    const client = await openClient(databaseUrl, run.closeAtEnd);
    const traffic = new Traffic(server.url, run.seconds);
    await traffic.prepare();

    const samples = run.isQuick ? 5 : 30;
    const rows = [];
    const running = traffic.run();
    for (let sample = 1; sample <= samples; sample += 1) {
      await Promise.race([running, sleep((run.seconds * 1000) / samples)]);
      run.progress(`Sample ${sample} of ${samples}: ${traffic.messages} messages so far`);
      const memoryMb = await peakMemoryMb(server);
      rows.push([
        `${Math.round((run.seconds * sample) / samples)}`,
        traffic.messages,
        ...(await sizesKb(client)),
        memoryMb && Math.round(memoryMb),
      ]);
    }
    await running;
    return {
      tables: [
        {
          caption: 'Sizes in KB with their indexes, under mixed load without a backlog',
          columns: ['seconds', 'messages so far', ...tables, 'dead rows', 'server memory, peak MB'],
          rows,
        },
      ],
      notes: [
        'Deduplication ids are kept for five minutes, so their table grows for that long and then no more.',
      ],
    };
  },
};

const tables = [
  'messages',
  'count_deltas',
  'message_groups',
  'message_group_names',
  'deduplications',
  'receive_attempts',
];

async function sizesKb(client: Client): Promise<number[]> {
  const { rows } = await client.query<{ size_kb: string; dead: string }>(
    `select
      pg_total_relation_size(format('trunkline.%I', name)) / 1024 as size_kb,
      pg_stat_get_dead_tuples(format('trunkline.%I', name)::regclass) as dead
    from unnest($1::text[]) with ordinality as listed (name, position)
    order by position`,
    [tables],
  );
  const dead = rows.reduce((total, row) => total + Number(row.dead), 0);
  return [...rows.map((row) => Number(row.size_kb)), dead];
}

/** Producers and consumers of a standard and a FIFO queue, some of whom wait by long polls. */
class Traffic {
  messages = 0;
  readonly #url: string;
  readonly #seconds: number;
  #standardUrl = '';
  #fifoUrl = '';
  #deduplicationIds = 0;

  constructor(url: string, seconds: number) {
    this.#url = url;
    this.#seconds = seconds;
  }

  async prepare(): Promise<void> {
    const connection = new SqsConnection(this.#url);
    this.#standardUrl = await connection.createQueue('soak');
    this.#fifoUrl = await connection.createQueue('soak.fifo', { FifoQueue: 'true' });
    connection.close();
  }

  /** More consumers than producers, so that nothing piles up. */
  async run(): Promise<void> {
    const nextId = () => {
      this.#deduplicationIds += 1;
      return this.#deduplicationIds;
    };
    const standard = this.#standardUrl;
    const fifo = this.#fifoUrl;
    const producers = [
      this.#repeat((connection) => connection.sendMessage(standard), 2),
      this.#repeat((connection) => connection.sendBatch(standard), 10),
      this.#repeat((connection) => connection.sendFifoBatch(fifo, fifoGroups, nextId), 10),
    ];
    const consumers = [standard, standard, standard, fifo, fifo, fifo].map((queueUrl) =>
      this.#repeat((connection) => consume(connection, queueUrl), 0),
    );
    await Promise.all([...producers, ...consumers]);
  }

  async #repeat(
    step: (connection: SqsConnection) => Promise<number>,
    pauseMs: number,
  ): Promise<void> {
    const connection = new SqsConnection(this.#url);
    const deadlineMs = performance.now() + this.#seconds * 1000;
    while (performance.now() < deadlineMs) {
      const count = await step(connection);
      // Pausing are those who send.
      if (pauseMs > 0) {
        this.messages += count;
        await sleep(pauseMs);
      }
    }
    connection.close();
  }
}

async function consume(connection: SqsConnection, queueUrl: string): Promise<number> {
  const handles = await connection.receive(queueUrl, 10, 1);
  if (handles.length > 0) {
    await connection.deleteBatch(queueUrl, handles);
  }
  return handles.length;
}
