/** Requests of the JSON protocol without an SDK, for any number of them at once and for hanging up. */
export async function call(
  url: string,
  action: string,
  input: object,
  signal?: AbortSignal,
): Promise<{ status: number; output: Record<string, unknown> }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `AmazonSQS.${action}`,
    },
    body: JSON.stringify(input),
    ...(signal && { signal }),
  });
  const body = await response.text();
  return { status: response.status, output: body === '' ? {} : JSON.parse(body) };
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
