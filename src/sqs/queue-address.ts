import { SqsError } from './errors.ts';
import { limits } from './limits.ts';

/** What identifies a queue: its region is the server's, its host in a URL whatever the client used. */
export interface QueueAddress {
  accountId: string;
  name: string;
}

/** @throws {SqsError} InvalidParameterValue */
export function requireQueueName(name: string | undefined): string {
  if (name === undefined) {
    throw new SqsError(
      'InvalidParameterValue',
      'Value for parameter QueueName is invalid. Reason: Must specify a queue name.',
    );
  }
  return name;
}

const accountIdForm = /^\d{12}$/;
const nameForm = /^[A-Za-z0-9_-]+(?:\.fifo)?$/;

/** Whether a queue can have this address. What cannot need not be looked for. */
export function isPossible({ accountId, name }: QueueAddress): boolean {
  return (
    name.length <= limits.queueNameLength && nameForm.test(name) && accountIdForm.test(accountId)
  );
}

export function queueUrl(baseUrl: string, address: QueueAddress): string {
  return `${baseUrl}/${address.accountId}/${address.name}`;
}

/** The last two segments of a queue URL's path. Behind a proxy anything may stand before them. */
export function addressFromPath(path: string): QueueAddress | undefined {
  const [accountId, name] = path.split('/').slice(-2);
  return accountId !== undefined && accountIdForm.test(accountId) && name
    ? { accountId, name }
    : undefined;
}

/** Longer than any queue's with a prefix of a proxy. Parsing and keeping longer ones would cost time and memory. */
const longestUrl = 1_024;

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
  if (url.length > longestUrl) {
    return undefined;
  }
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
