import { request } from 'node:http';

/**
 * Requests of the JSON protocol without an SDK: any number of them at once, each on a connection of its
 * own, and hanging up closes it.
 */
export function call(
  url: string,
  action: string,
  input: object,
  signal?: AbortSignal,
): Promise<{ status: number; output: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent: false,
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': `AmazonSQS.${action}`,
        },
        ...(signal && { signal }),
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (text) => {
          body += text;
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            output: body === '' ? {} : JSON.parse(body),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(input));
  });
}

export interface ReceivedMessage {
  MessageId: string;
  Body: string;
  Attributes?: { ApproximateReceiveCount?: string };
}

export async function receive(
  url: string,
  queueUrl: string,
  options: { WaitTimeSeconds?: number; VisibilityTimeout?: number } = {},
  signal?: AbortSignal,
): Promise<ReceivedMessage[]> {
  const input = {
    QueueUrl: queueUrl,
    AttributeNames: ['ApproximateReceiveCount'],
    ...options,
  };
  const { status, output } = await call(url, 'ReceiveMessage', input, signal);
  if (status !== 200) {
    throw new Error(`Receiving was answered ${status}: ${JSON.stringify(output)}`);
  }
  const { Messages = [] } = output as { Messages?: ReceivedMessage[] };
  return Messages;
}

export async function createQueue(url: string, name: string): Promise<string> {
  const { output } = await call(url, 'CreateQueue', { QueueName: name });
  return String(output['QueueUrl']);
}

export async function send(url: string, queueUrl: string, body = 'x'): Promise<void> {
  const { status } = await call(url, 'SendMessage', { QueueUrl: queueUrl, MessageBody: body });
  if (status !== 200) {
    throw new Error(`Sending was answered ${status}.`);
  }
}
