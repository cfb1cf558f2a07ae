import type { Client } from 'pg';
import type { Benchmark, Run } from '../harness/benchmark.ts';
import { clearDeletedQueues } from '../harness/clear.ts';
import { Comparison } from '../harness/comparison.ts';
import { runLoad, type Throughput } from '../harness/load.ts';
import { openClient } from '../harness/postgres.ts';
import { median } from '../harness/statistics.ts';
import { peakMemoryMb } from '../harness/trunkline-server.ts';
import { rawStatements } from '../sql/raw-statements.ts';
import {
  bareFastify,
  type Contender,
  fusedInserts,
  startContenders,
  trunkline,
} from './contenders.ts';
import { runDrains } from './drains.ts';
import { SqsConnection } from './sqs-connection.ts';

const rawName = 'raw SQL, no HTTP';
const fifoName = 'FIFO, 1 000 groups';
const standardName = 'standard';
const fifoGroups = 1_000;

/** These have no queues: they only take messages. */
const sendersOnly: readonly string[] = [bareFastify, fusedInserts];

/** Every request over HTTP: one message and ten at a time, with few and with many connections. */
export const http: Benchmark = {
  seconds: 3,
  quickSeconds: 0.2,
  async run(run) {
    const databaseUrl = await run.postgres.createDatabase('http');
    const { contenders, notes } = await startContenders(run, databaseUrl);
    const clients: [Client, Client] = [
      await openClient(databaseUrl, run.closeAtEnd),
      await openClient(databaseUrl, run.closeAtEnd),
    ];
    const bench = new HttpBench(run, contenders, clients);
    await bench.run(run.isQuick ? [8] : [1, 32, 128]);
    const [ours] = contenders;
    const memoryMb = ours && (await peakMemoryMb(ours.server));
    return {
      tables: [bench.requests.table(), bench.fifo.table()],
      comparisons: [bench.requests, bench.fifo],
      notes: [
        ...notes,
        'Trunkline answers after a durable commit. fauxqs (in memory) and moto lose their messages when they end; bare Fastify has none.',
        `Processor time of the load generator per SendMessage: ${Math.round(median(bench.generatorMicroseconds))} µs.`,
        `Most memory of the Trunkline server process: ${memoryMb === undefined ? 'unknown here' : `${Math.round(memoryMb)} MB`}.`,
      ],
    };
  },
};

class HttpBench {
  readonly requests: Comparison;
  readonly fifo = new Comparison('Trunkline, messages/s over HTTP', fifoName, [standardName]);
  readonly generatorMicroseconds: number[] = [];
  readonly #run: Run;
  readonly #contenders: readonly Contender[];
  readonly #clients: readonly [Client, Client];
  #queues = 0;
  #deduplicationIds = 0;

  constructor(run: Run, contenders: readonly Contender[], clients: readonly [Client, Client]) {
    this.#run = run;
    this.#contenders = contenders;
    this.#clients = clients;
    const others = contenders.map(({ name }) => name).filter((name) => name !== trunkline);
    this.requests = new Comparison('Messages/s over HTTP', trunkline, [...others, rawName]);
  }

  async run(connectionCounts: readonly number[]): Promise<void> {
    for (const { name, server } of this.#contenders) {
      this.#run.progress(`Warming up ${name}`);
      await this.#warmUp(name, server.url);
    }
    for (let round = 1; round <= this.#run.rounds; round += 1) {
      for (const connectionCount of connectionCounts) {
        for (const contender of this.#contenders) {
          this.#run.progress(
            `Round ${round} of ${this.#run.rounds}: ${contender.name}, ${connectionCount} connections`,
          );
          await this.#measure(contender, connectionCount);
        }
        await this.#measureRaw(connectionCount);
      }
    }
  }

  /** Until the code is compiled by the optimizing compiler, as that of a server is that has run for a minute. */
  async #warmUp(name: string, url: string): Promise<void> {
    const connections = Array.from({ length: 8 }, () => new SqsConnection(url));
    const load = (step: (connection: SqsConnection) => Promise<number>) =>
      runLoad({ connections, seconds: this.#run.isQuick ? 0.2 : 4, step });
    await this.#withQueue(name, connections, {}, async (queueUrl) => {
      await load((connection) => connection.sendMessage(queueUrl));
      await load((connection) => connection.sendBatch(queueUrl));
      if (!sendersOnly.includes(name)) {
        await load((connection) => connection.cycle(queueUrl));
        await load((connection) => connection.drain(queueUrl));
      }
    });
    for (const connection of connections) {
      connection.close();
    }
  }

  async #measure({ name, server }: Contender, connectionCount: number): Promise<void> {
    const connections = Array.from(
      { length: connectionCount },
      () => new SqsConnection(server.url),
    );
    const load = (step: (connection: SqsConnection) => Promise<number>) =>
      runLoad({ connections, seconds: this.#run.seconds, step });
    const suffix = `${connectionCount} connections`;
    const record = (task: string, { messagesPerSecond }: Pick<Throughput, 'messagesPerSecond'>) =>
      this.requests.record(`${task}, ${suffix}`, name, messagesPerSecond);

    await this.#withQueue(name, connections, {}, async (queueUrl) => {
      const sent = await load((connection) => connection.sendMessage(queueUrl));
      record('SendMessage', sent);
      if (name === trunkline) {
        this.generatorMicroseconds.push(sent.generatorMicroseconds);
      }
    });
    if (!sendersOnly.includes(name)) {
      await this.#withQueue(name, connections, {}, async (queueUrl) => {
        record('Send, receive, delete one', await load((connection) => connection.cycle(queueUrl)));
      });
    }
    await this.#withQueue(name, connections, {}, async (queueUrl) => {
      const sent = await load((connection) => connection.sendBatch(queueUrl));
      record('SendMessageBatch(10)', sent);
      if (name === trunkline) {
        this.fifo.record(`Send(10), ${suffix}`, standardName, sent.messagesPerSecond);
      }
    });
    if (!sendersOnly.includes(name)) {
      await this.#withQueue(name, connections, {}, async (queueUrl) => {
        const drained = await runDrains(this.#run, {
          connections,
          fill: (connection) => connection.sendBatch(queueUrl),
          drain: (connection) => connection.drain(queueUrl),
        });
        record('ReceiveMessage(10) + DeleteMessageBatch(10)', drained);
        if (name === trunkline) {
          this.fifo.record(
            `Receive + delete(10), ${suffix}`,
            standardName,
            drained.messagesPerSecond,
          );
        }
      });
    }
    if (name === trunkline) {
      await this.#measureFifo(connections, suffix);
    }
    for (const connection of connections) {
      connection.close();
    }
  }

  async #measureFifo(connections: readonly SqsConnection[], suffix: string): Promise<void> {
    const attributes = { FifoQueue: 'true' };
    const send = (connection: SqsConnection, queueUrl: string) =>
      connection.sendFifoBatch(queueUrl, fifoGroups, () => this.#nextDeduplicationId());
    await this.#withQueue(trunkline, connections, attributes, async (queueUrl) => {
      const sent = await runLoad({
        connections,
        seconds: this.#run.seconds,
        step: (connection) => send(connection, queueUrl),
      });
      this.fifo.record(`Send(10), ${suffix}`, fifoName, sent.messagesPerSecond);
    });
    await this.#withQueue(trunkline, connections, attributes, async (queueUrl) => {
      const drained = await runDrains(this.#run, {
        connections,
        fill: (connection) => send(connection, queueUrl),
        drain: (connection) => connection.drain(queueUrl),
      });
      this.fifo.record(`Receive + delete(10), ${suffix}`, fifoName, drained.messagesPerSecond);
    });
  }

  /** A queue of its own for each measurement, of which nothing is left for the next one. */
  async #withQueue(
    name: string,
    [connection]: readonly SqsConnection[],
    attributes: Record<string, string>,
    work: (queueUrl: string) => Promise<void>,
  ): Promise<void> {
    const [client] = this.#clients;
    if (sendersOnly.includes(name)) {
      await work('');
      if (name === fusedInserts) {
        await client.query('truncate fused_inserts');
      }
      return;
    }
    this.#queues += 1;
    const queueName = `bench-${this.#queues}${attributes['FifoQueue'] ? '.fifo' : ''}`;
    const queueUrl = (await connection?.createQueue(queueName, attributes)) ?? '';
    await work(queueUrl);
    await connection?.deleteQueue(queueUrl);
    if (name === trunkline) {
      await clearDeletedQueues(client);
    }
  }

  /** The same batches of ten without HTTP and without a queue's logic, on as many connections as pay. */
  async #measureRaw(connectionCount: number): Promise<void> {
    const [client] = this.#clients;
    const connections = connectionCount === 1 ? [client] : this.#clients;
    const send = (connection: Client) => rawStatements.send(connection, 10);
    const drain = (connection: Client) => rawStatements.drain(connection, 10);
    const suffix = `${connectionCount} connections`;
    await rawStatements.empty(client);
    const sent = await runLoad({ connections, seconds: this.#run.seconds, step: send });
    this.requests.record(`SendMessageBatch(10), ${suffix}`, rawName, sent.messagesPerSecond);
    await rawStatements.empty(client);
    const drained = await runDrains(this.#run, { connections, fill: send, drain });
    this.requests.record(
      `ReceiveMessage(10) + DeleteMessageBatch(10), ${suffix}`,
      rawName,
      drained.messagesPerSecond,
    );
    await rawStatements.empty(client);
  }

  #nextDeduplicationId(): number {
    this.#deduplicationIds += 1;
    return this.#deduplicationIds;
  }
}
