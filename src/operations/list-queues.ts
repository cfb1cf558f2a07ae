import { invalidParameter, SqsError } from '../sqs/errors.ts';
import { limits } from '../sqs/limits.ts';
import { queueUrl } from '../sqs/queue-address.ts';
import { listQueues as shapes } from '../sqs/shapes/queues.ts';
import { defineOperation } from './operation.ts';

/** A page token is the last name of the page before, in base64 as on AWS. */
function encodeToken(name: string): string {
  return Buffer.from(name).toString('base64');
}

function decodeToken(token: string): string {
  const name = Buffer.from(token, 'base64').toString();
  if (token === '' || encodeToken(name) !== token) {
    throw new SqsError('InvalidParameterValue', 'Invalid or expired next token.');
  }
  return name;
}

export const listQueues = defineOperation({
  action: 'ListQueues',
  shapes,
  async run(context, { QueueNamePrefix = '', NextToken, MaxResults }) {
    const pageSize = MaxResults ?? limits.listedQueues;
    if (pageSize < 1 || pageSize > limits.listedQueues) {
      throw invalidParameter(
        pageSize,
        'MaxResults',
        `MaxResults must be an integer between 1 and ${limits.listedQueues}.`,
      );
    }
    const names = await context.store.listQueueNames({
      accountId: context.accountId,
      prefix: QueueNamePrefix,
      after: NextToken === undefined ? undefined : decodeToken(NextToken),
      limit: pageSize + 1,
    });
    const page = names.slice(0, pageSize);
    const last = page.at(-1);
    if (last === undefined) {
      return {};
    }
    // Without MaxResults AWS answers at most a thousand and no token.
    const hasMore = MaxResults !== undefined && names.length > pageSize;
    return {
      QueueUrls: page.map((name) =>
        queueUrl(context.baseUrl(), { accountId: context.accountId, name }),
      ),
      ...(hasMore && { NextToken: encodeToken(last) }),
    };
  },
});
