import type { FusedMessages } from '../db/fused-messages.ts';
import type { Queue, QueueId, QueueStore } from '../db/queue-store.ts';
import type { QueueAddress } from '../sqs/queue-address.ts';
import type { Static, TSchema } from '../sqs/shapes/schema.ts';
import type { GroupTurns } from './group-turns.ts';
import type { QueueDirectory } from './queue-directory.ts';
import type { WaitingPolls } from './waiting-polls.ts';
import type { WorkInHand } from './work-in-hand.ts';

/** What operations work with, the same for all requests of a server. */
export interface Services {
  store: QueueStore;
  messages: FusedMessages;
  queues: QueueDirectory;
  polls: WaitingPolls;
  groupTurns: GroupTurns;
  workInHand: WorkInHand;
  /** A queue may have messages to receive: wakes waiting polls, here and on other servers. */
  announceMessages(queueId: QueueId): void;
  accountId: string;
  region: string;
  /** How many messages of a queue may be in flight, by its kind. */
  inFlightLimits: { standard: number; fifo: number };
  /** How long the name of a deleted queue stays taken, in seconds. */
  deletedNameCooldownSeconds: number;
}

/** One request, as operations see it. */
export interface RequestContext extends Services {
  /** The base of queue URLs for this client. */
  baseUrl(): string;
  /** The queue that the request's path names. */
  pathQueue: QueueAddress | undefined;
  senderId: string;
  /** The caller's X-Amzn-Trace-Id header. */
  traceHeader: string | undefined;
  /** On performance.now()'s scale. */
  startedAtMs: number;
  /** Whether the client hung up by now. */
  hasHungUp(): boolean;
  /** Aborts when the client hangs up. Made at the first call, for those who have to wait. */
  hangUpSignal(): AbortSignal;
}

interface ActionShapes<Input extends TSchema, Output extends TSchema> {
  action: string;
  shapes: { input: Input; output: Output };
}

/** One SQS action. */
export interface Operation {
  action: string;
  shapes: { input: TSchema; output: TSchema };
  /** False for the actions that AWS does not take on a queue URL's path. */
  isAllowedOnQueuePath: boolean;
  run(context: RequestContext, input: unknown): Promise<unknown>;
}

/** An action that is about no particular queue, or finds its queue by itself. */
export function defineOperation<Input extends TSchema, Output extends TSchema>(
  definition: ActionShapes<Input, Output> & {
    isAllowedOnQueuePath?: boolean;
    run(context: RequestContext, input: Static<Input>): Promise<Static<Output>>;
  },
): Operation {
  return {
    action: definition.action,
    shapes: definition.shapes,
    isAllowedOnQueuePath: definition.isAllowedOnQueuePath ?? false,
    // The codec read the input by this very shape.
    run: (context, input) => definition.run(context, input as Static<Input>),
  };
}

/** An action on the queue that QueueUrl or the path names. */
export function defineQueueOperation<Input extends TSchema, Output extends TSchema>(
  definition: ActionShapes<Input, Output> & {
    run(context: RequestContext, queue: Queue, input: Static<Input>): Promise<Static<Output>>;
  },
): Operation {
  return defineOperation({
    ...definition,
    isAllowedOnQueuePath: true,
    run: (context, input) =>
      context.queues.withQueue(queueAddress(context, input), (queue) =>
        definition.run(context, queue, input),
      ),
  });
}

function queueAddress(context: RequestContext, input: unknown): QueueAddress | undefined {
  const url =
    typeof input === 'object' && input !== null && 'QueueUrl' in input ? input.QueueUrl : undefined;
  return typeof url === 'string' ? context.queues.addressFromUrl(url) : context.pathQueue;
}
