import { SqsError, unknownAttribute } from './errors.ts';
import { hasOnlyXmlCharacters } from './text.ts';

/** Attributes that GetQueueAttributes knows. What values they may have is checked where they are stored. */
const counts = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
];

const known = new Set([
  'All',
  ...counts,
  'ContentBasedDeduplication',
  'CreatedTimestamp',
  'DeduplicationScope',
  'DelaySeconds',
  'FifoQueue',
  'FifoThroughputLimit',
  'KmsDataKeyReusePeriodSeconds',
  'KmsMasterKeyId',
  'LastModifiedTimestamp',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'Policy',
  'QueueArn',
  'ReceiveMessageWaitTimeSeconds',
  'RedriveAllowPolicy',
  'RedrivePolicy',
  'SqsManagedSseEnabled',
  'VisibilityTimeout',
]);

/** @throws {SqsError} InvalidAttributeName for a name that no queue has */
export function requireKnownAttributes(names: readonly string[]): void {
  for (const name of names) {
    if (!known.has(name)) {
      throw unknownAttribute(name);
    }
  }
}

/**
 * Checks that names and values are texts that can be stored at all.
 *
 * @throws {SqsError} InvalidAttributeName, InvalidAttributeValue
 */
export function requireStorableAttributes(attributes: Record<string, string>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (!hasOnlyXmlCharacters(name)) {
      throw unknownAttribute(name);
    }
    if (!hasOnlyXmlCharacters(value)) {
      throw new SqsError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
    }
  }
}

/** True when answering these attributes takes a count of the queue's messages. */
export function needsCounts(names: readonly string[]): boolean {
  return names.some((name) => name === 'All' || counts.includes(name));
}
