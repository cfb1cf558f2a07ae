import { SqsError } from '../sqs/errors.ts';
import { addressFromArn, type QueueAddress } from '../sqs/queue-address.ts';
import type { QueueSettings } from '../sqs/queue-attributes.ts';
import type { RequestContext } from './operation.ts';

/**
 * Checks that the dead-letter queue of a redrive policy exists, is of the source's type and lets itself be
 * named. A queue may name itself, as on AWS.
 *
 * @throws {SqsError} InvalidParameterValue
 */
export async function requireRedriveTarget(
  context: RequestContext,
  source: QueueAddress,
  settings: Partial<QueueSettings>,
  isSourceFifo: boolean,
): Promise<void> {
  const { dead_letter_target_arn: arn, max_receive_count: maxReceiveCount } = settings;
  if (arn === undefined || arn === null) {
    return;
  }
  const invalid = (reason: string) =>
    new SqsError(
      'InvalidParameterValue',
      `Value ${JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount })} for parameter RedrivePolicy is invalid. Reason: ${reason}`,
    );
  const address = addressFromArn(arn);
  if (address?.accountId === source.accountId && address.name === source.name) {
    return;
  }
  const target = address && (await context.store.findQueue(address));
  if (target === undefined) {
    throw invalid('Dead letter target does not exist.');
  }
  if (target.settings.is_fifo !== isSourceFifo) {
    throw invalid('Dead-letter queue must be same type of queue as the source..');
  }
}
