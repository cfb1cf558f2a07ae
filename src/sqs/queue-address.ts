import { SqsError } from './errors.ts';

/** What identifies a queue: its region is the server's, its host in a URL whatever the client used. */
export interface QueueAddress {
  accountId: string;
  name: string;
}

const standardName = /^[A-Za-z0-9_-]{1,80}$/;
const fifoName = /^[A-Za-z0-9_-]{1,75}\.fifo$/;

export function isFifoName(name: string): boolean {
  return name.endsWith('.fifo');
}

/** @throws {SqsError} InvalidParameterValue */
export function requireQueueName(name: string | undefined, isFifo: boolean): string {
  if (name === undefined) {
    throw new SqsError(
      'InvalidParameterValue',
      'Value for parameter QueueName is invalid. Reason: Must specify a queue name.',
    );
  }
  if (name === '') {
    throw new SqsError('InvalidParameterValue', 'Queue name cannot be empty');
  }
  if (isFifo && !fifoName.test(name)) {
    throw new SqsError(
      'InvalidParameterValue',
      'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.',
    );
  }
  if (!isFifo && !standardName.test(name)) {
    throw new SqsError(
      'InvalidParameterValue',
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    );
  }
  return name;
}

export function queueUrl(baseUrl: string, address: QueueAddress): string {
  return `${baseUrl}/${address.accountId}/${address.name}`;
}

export function queueArn(region: string, address: QueueAddress): string {
  return `arn:aws:sqs:${region}:${address.accountId}:${address.name}`;
}

const arnForm = /^arn:[a-z-]+:sqs:[a-z0-9-]+:(\d{12}):([A-Za-z0-9_-]+(?:\.fifo)?)$/;

export function addressFromArn(arn: string): QueueAddress | undefined {
  const [, accountId, name] = arnForm.exec(arn) ?? [];
  return accountId !== undefined && name !== undefined ? { accountId, name } : undefined;
}

/** The last two segments of a queue URL's path. Behind a proxy anything may stand before them. */
export function addressFromPath(path: string): QueueAddress | undefined {
  const [accountId, name] = path.split('/').slice(-2);
  return accountId !== undefined && /^\d{12}$/.test(accountId) && name
    ? { accountId, name }
    : undefined;
}

const awsHost = /^(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com$/;

/**
 * The queue that a QueueUrl parameter names. Host and port do not matter, since they depend on where the
 * client sits; but an AWS host of another region is not this endpoint, as on AWS. A bare queue name is
 * taken, as AWS takes it.
 *
 * @throws {SqsError} InvalidAddress
 */
export function addressFromUrl(
  url: string,
  server: { accountId: string; region: string },
): QueueAddress | undefined {
  if (!url.includes('/')) {
    return { accountId: server.accountId, name: url };
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const [, current, former] = awsHost.exec(parsed?.hostname ?? '') ?? [];
  const region = current ?? former;
  if (region !== undefined && region !== server.region) {
    throw new SqsError('InvalidAddress', `The address ${url} is not valid for this endpoint.`);
  }
  return addressFromPath(parsed?.pathname ?? url);
}
