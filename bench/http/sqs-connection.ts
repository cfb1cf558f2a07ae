import { messageBody } from '../harness/load.ts';
import { HttpConnection } from './http-connection.ts';

interface Received {
  Messages?: { ReceiptHandle: string }[];
}

/** Some servers find out by it which service is meant; none of those compared checks it. */
const authorization =
  'AWS4-HMAC-SHA256 Credential=bench/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0';

const batch = Array.from({ length: 10 }, (_, index) => String(index));

/** SQS over one connection, in the JSON protocol. */
export class SqsConnection {
  readonly #connection: HttpConnection;
  readonly #host: string;

  constructor(url: string) {
    this.#connection = new HttpConnection(url);
    this.#host = new URL(url).host;
  }

  async createQueue(name: string, attributes: Record<string, string> = {}): Promise<string> {
    const input = { QueueName: name, Attributes: { VisibilityTimeout: '600', ...attributes } };
    const body = await this.#call('CreateQueue', JSON.stringify(input));
    const { QueueUrl }: { QueueUrl: string } = JSON.parse(body);
    return QueueUrl;
  }

  async deleteQueue(queueUrl: string): Promise<void> {
    await this.#call('DeleteQueue', JSON.stringify({ QueueUrl: queueUrl }));
  }

  async sendMessage(queueUrl: string): Promise<number> {
    await this.#call('SendMessage', `{"QueueUrl":"${queueUrl}","MessageBody":"${messageBody}"}`);
    return 1;
  }

  async sendBatch(queueUrl: string): Promise<number> {
    const entries = batch.map((id) => `{"Id":"${id}","MessageBody":"${messageBody}"}`);
    await this.#callBatch('SendMessageBatch', queueUrl, entries);
    return batch.length;
  }

  /** Ten messages to groups chosen at random, each with a deduplication id of its own. */
  async sendFifoBatch(queueUrl: string, groups: number, nextId: () => number): Promise<number> {
    const entries = batch.map(
      (id) =>
        `{"Id":"${id}","MessageBody":"${messageBody}","MessageGroupId":"${Math.floor(Math.random() * groups)}","MessageDeduplicationId":"${nextId()}"}`,
    );
    await this.#callBatch('SendMessageBatch', queueUrl, entries);
    return batch.length;
  }

  async receive(queueUrl: string, limit: number, waitSeconds = 0): Promise<string[]> {
    const body = await this.#call(
      'ReceiveMessage',
      `{"QueueUrl":"${queueUrl}","MaxNumberOfMessages":${limit},"WaitTimeSeconds":${waitSeconds}}`,
    );
    const { Messages = [] }: Received = JSON.parse(body);
    return Messages.map(({ ReceiptHandle }) => ReceiptHandle);
  }

  async deleteMessage(queueUrl: string, handle: string): Promise<void> {
    const input = { QueueUrl: queueUrl, ReceiptHandle: handle };
    await this.#call('DeleteMessage', JSON.stringify(input));
  }

  async deleteBatch(queueUrl: string, handles: readonly string[]): Promise<void> {
    const entries = handles.map((ReceiptHandle, index) =>
      JSON.stringify({ Id: String(index), ReceiptHandle }),
    );
    await this.#callBatch('DeleteMessageBatch', queueUrl, entries);
  }

  /** Receives ten and deletes them. */
  async drain(queueUrl: string): Promise<number> {
    const handles = await this.receive(queueUrl, batch.length);
    if (handles.length > 0) {
      await this.deleteBatch(queueUrl, handles);
    }
    return handles.length;
  }

  /** Sends one message, receives one and deletes it. */
  async cycle(queueUrl: string): Promise<number> {
    await this.sendMessage(queueUrl);
    const [handle] = await this.receive(queueUrl, 1);
    if (handle === undefined) {
      return 0;
    }
    await this.deleteMessage(queueUrl, handle);
    return 1;
  }

  close(): void {
    this.#connection.close();
  }

  /** The status is 200 also when entries fail. */
  async #callBatch(action: string, queueUrl: string, entries: readonly string[]): Promise<void> {
    const answer = await this.#call(action, `{"QueueUrl":"${queueUrl}","Entries":[${entries}]}`);
    if (/"Failed": ?\[ ?\{/.test(answer)) {
      throw new Error(`${action} failed: ${answer}`);
    }
  }

  async #call(action: string, body: string): Promise<string> {
    const { status, body: answer } = await this.#connection.send(
      `POST / HTTP/1.1\r\nHost: ${this.#host}\r\nX-Amz-Target: AmazonSQS.${action}\r\nContent-Type: application/x-amz-json-1.0\r\nAuthorization: ${authorization}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    const text = answer.toString('utf8');
    if (status !== 200) {
      throw new Error(`${action} failed with ${status}: ${text}`);
    }
    return text;
  }
}
