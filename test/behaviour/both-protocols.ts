import { randomUUID } from 'node:crypto';
import type {
  ListQueuesCommandInput,
  ListQueuesCommandOutput,
  Message,
  ReceiveMessageCommandInput,
  SendMessageCommandInput,
  SQS,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe } from 'vitest';
import { jsonClient, queryClient } from '../support/clients.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';
import { type TestServer, useServer } from '../support/server.ts';

/** What the SDKs of both protocols have in common. */
export type SqsClient = Pick<
  SQS,
  | 'changeMessageVisibility'
  | 'changeMessageVisibilityBatch'
  | 'createQueue'
  | 'deleteMessage'
  | 'deleteMessageBatch'
  | 'deleteQueue'
  | 'destroy'
  | 'getQueueAttributes'
  | 'getQueueUrl'
  | 'purgeQueue'
  | 'receiveMessage'
  | 'sendMessage'
  | 'sendMessageBatch'
  | 'setQueueAttributes'
> & { listQueues(input: ListQueuesCommandInput): Promise<ListQueuesCommandOutput> };

export type Protocol = 'JSON' | 'Query';

const clients: { protocol: Protocol; open: (endpoint: string) => SqsClient }[] = [
  { protocol: 'JSON', open: jsonClient },
  { protocol: 'Query', open: queryClient },
];

export interface Counts {
  visible: number;
  inFlight: number;
  delayed: number;
}

/** The server under test, as one client sees it, and the database below for moving time. */
export class Subject {
  readonly protocol: Protocol;
  readonly database: TestDatabase;
  readonly #server: TestServer;
  readonly #open: (endpoint: string) => SqsClient;
  #client: SqsClient | undefined;

  constructor(
    { protocol, open }: (typeof clients)[number],
    database: TestDatabase,
    server: TestServer,
  ) {
    this.protocol = protocol;
    this.database = database;
    this.#server = server;
    this.#open = open;
  }

  get url(): string {
    return this.#server.url;
  }

  get client(): SqsClient {
    this.#client ??= this.#open(this.#server.url);
    return this.#client;
  }

  close(): void {
    this.#client?.destroy();
  }

  /** A new queue's URL. */
  async createQueue(
    attributes: Record<string, string> = {},
    name: string = randomUUID(),
  ): Promise<string> {
    const { QueueUrl } = await this.client.createQueue({ QueueName: name, Attributes: attributes });
    return present(QueueUrl);
  }

  async send(
    queueUrl: string,
    body: string,
    options: Partial<SendMessageCommandInput> = {},
  ): Promise<string> {
    const sent = await this.client.sendMessage({
      QueueUrl: queueUrl,
      MessageBody: body,
      ...options,
    });
    return present(sent.MessageId);
  }

  async receive(
    queueUrl: string,
    options: Partial<ReceiveMessageCommandInput> = {},
  ): Promise<Message[]> {
    const { Messages } = await this.client.receiveMessage({ QueueUrl: queueUrl, ...options });
    return Messages ?? [];
  }

  /** The one message that a receive must give. */
  async receiveOne(
    queueUrl: string,
    options: Partial<ReceiveMessageCommandInput> = {},
  ): Promise<Message & { ReceiptHandle: string; MessageId: string }> {
    const [message, ...others] = await this.receive(queueUrl, options);
    if (message === undefined || others.length > 0) {
      throw new Error(`Expected one message, received ${others.length + (message ? 1 : 0)}.`);
    }
    return {
      ...message,
      ReceiptHandle: present(message.ReceiptHandle),
      MessageId: present(message.MessageId),
    };
  }

  async change(
    queueUrl: string,
    message: { ReceiptHandle: string },
    timeoutSeconds: number,
  ): Promise<void> {
    await this.client.changeMessageVisibility({
      QueueUrl: queueUrl,
      ReceiptHandle: message.ReceiptHandle,
      VisibilityTimeout: timeoutSeconds,
    });
  }

  async delete(queueUrl: string, message: { ReceiptHandle: string }): Promise<void> {
    await this.client.deleteMessage({
      QueueUrl: queueUrl,
      ReceiptHandle: message.ReceiptHandle,
    });
  }

  async attributes(queueUrl: string): Promise<Record<string, string>> {
    const { Attributes } = await this.client.getQueueAttributes({
      QueueUrl: queueUrl,
      AttributeNames: ['All'],
    });
    return Attributes ?? {};
  }

  async counts(queueUrl: string): Promise<Counts> {
    const attributes = await this.attributes(queueUrl);
    return {
      visible: Number(attributes['ApproximateNumberOfMessages']),
      inFlight: Number(attributes['ApproximateNumberOfMessagesNotVisible']),
      delayed: Number(attributes['ApproximateNumberOfMessagesDelayed']),
    };
  }

  /**
   * Makes the messages of a queue older: as if they had been sent, and received if they were, that much
   * earlier. When they are visible stays as it is.
   */
  async age(queueUrl: string, interval: string): Promise<void> {
    await this.database.pool.query(
      `update trunkline.messages as message
      set sent_at = sent_at - $2::interval,
          received_at = received_at - $2::interval,
          first_received_at = first_received_at - $2::interval
      from trunkline.queues as queue
      where queue.id = message.queue_id and queue.name = $1`,
      [queueName(queueUrl), interval],
    );
  }

  /** Seconds until the one message of a queue is visible. */
  async hiddenForSeconds(queueUrl: string): Promise<number> {
    const { rows } = await this.database.pool.query<{ seconds: number }>(
      `select extract(epoch from message.visible_at - clock_timestamp())::double precision as seconds
      from trunkline.messages as message
      join trunkline.queues as queue on queue.id = message.queue_id
      where queue.name = $1`,
      [queueName(queueUrl)],
    );
    return present(rows[0]).seconds;
  }
}

/** Runs the same tests with a client of each protocol; those of one protocol run beside each other. */
export function describeOverBothProtocols(
  theme: string,
  defineTests: (subject: Subject) => void,
): void {
  const database = useDatabase();
  const server = useServer(database);
  for (const client of clients) {
    describe.concurrent(`${theme} over ${client.protocol}`, () => {
      const subject = new Subject(client, database, server);
      beforeAll(() => subject.client);
      afterAll(() => subject.close());
      defineTests(subject);
    });
  }
}

export interface Refusal {
  code: string;
  status: number;
  message: string;
}

/** What the SDKs make of an error; the older one keeps the parsed answer aside for errors that it knows. */
interface ServiceError extends Error {
  Code?: string;
  Error?: { Code: string; Message: string };
  $metadata: { httpStatusCode: number };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && '$metadata' in error;
}

/** The error that a call is refused with, by the code of the Query protocol, which both clients tell. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    (answer) => new Error(`Expected an error, was answered ${JSON.stringify(answer)}.`),
    (reason: unknown) => reason,
  );
  if (!isServiceError(error)) {
    throw error;
  }
  return {
    code: error.Error?.Code ?? String(error.Code),
    status: error.$metadata.httpStatusCode,
    message: error.Error?.Message ?? error.message,
  };
}

export function queueName(queueUrl: string): string {
  return present(queueUrl.split('/').at(-1));
}

export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) {
    throw new Error('Expected a value.');
  }
  return value;
}

/** How long a call took, in milliseconds, with what it answered. */
export async function timed<Answer>(
  call: () => Promise<Answer>,
): Promise<{ answer: Answer; tookMs: number }> {
  const startedAtMs = performance.now();
  const answer = await call();
  return { answer, tookMs: performance.now() - startedAtMs };
}
