import { toCallerError } from '../db/sqlstate.ts';
import type { DecodedRequest, WireAnswer } from '../protocol/codec.ts';
import { SqsError } from '../sqs/errors.ts';
import type { RequestContext } from './operation.ts';
import { operations } from './registry.ts';

/**
 * The one seam between a decoded request and its answer.
 *
 * @throws {SqsError} for whatever is the caller's to know; anything else is a bug
 */
export async function execute(
  context: RequestContext,
  request: DecodedRequest,
): Promise<WireAnswer> {
  const operation = operations.get(request.action);
  const isOnQueuePath = context.pathQueue !== undefined;
  if (
    operation === undefined ||
    (isOnQueuePath && !request.isAllowedAnywhere && !operation.isAllowedOnQueuePath)
  ) {
    throw new SqsError(
      'InvalidAction',
      `The action ${request.action} is not valid for this endpoint.`,
    );
  }
  context.workInHand.begin();
  try {
    const output = await operation.run(context, request.readInput(operation.shapes.input));
    return request.writeOutput(operation.action, operation.shapes.output, output);
  } catch (error) {
    throw toCallerError(error);
  } finally {
    context.workInHand.end();
  }
}
