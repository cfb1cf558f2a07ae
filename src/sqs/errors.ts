/**
 * Every error that a caller can get, with the codes AWS gives it on each protocol.
 *
 * `type` is the JSON protocol's `__type`; `queryCode` is the Query protocol's `<Code>`, which the JSON
 * protocol repeats in the `x-amzn-query-error` header. The two differ for historical reasons.
 */
const smithy = (name: string) => `com.amazonaws.sqs#${name}`;
const coral = (name: string) => `com.amazon.coral.service#${name}`;
const legacy = (name: string) => `AWS.SimpleQueueService.${name}`;

export const errorCatalogue = {
  BatchEntryIdsNotDistinct: {
    type: smithy('BatchEntryIdsNotDistinct'),
    queryCode: legacy('BatchEntryIdsNotDistinct'),
    status: 400,
  },
  BatchRequestTooLong: {
    type: smithy('BatchRequestTooLong'),
    queryCode: legacy('BatchRequestTooLong'),
    status: 400,
  },
  EmptyBatchRequest: {
    type: smithy('EmptyBatchRequest'),
    queryCode: legacy('EmptyBatchRequest'),
    status: 400,
  },
  EmptyValue: { type: smithy('EmptyValue'), queryCode: 'EmptyValue', status: 400 },
  InternalFailure: { type: coral('InternalFailure'), queryCode: 'InternalFailure', status: 500 },
  InvalidAction: {
    type: coral('UnknownOperationException'),
    queryCode: 'InvalidAction',
    status: 400,
  },
  InvalidAddress: { type: smithy('InvalidAddress'), queryCode: 'InvalidAddress', status: 404 },
  InvalidAttributeName: {
    type: smithy('InvalidAttributeName'),
    queryCode: 'InvalidAttributeName',
    status: 400,
  },
  InvalidAttributeValue: {
    type: smithy('InvalidAttributeValue'),
    queryCode: 'InvalidAttributeValue',
    status: 400,
  },
  InvalidBatchEntryId: {
    type: smithy('InvalidBatchEntryId'),
    queryCode: legacy('InvalidBatchEntryId'),
    status: 400,
  },
  InvalidMessageContents: {
    type: smithy('InvalidMessageContents'),
    queryCode: 'InvalidMessageContents',
    status: 400,
  },
  InvalidParameterValue: {
    type: coral('InvalidParameterValueException'),
    queryCode: 'InvalidParameterValue',
    status: 400,
  },
  MalformedInput: {
    type: coral('SerializationException'),
    queryCode: 'MalformedInput',
    status: 400,
  },
  MissingParameter: {
    type: coral('MissingRequiredParameterException'),
    queryCode: 'MissingParameter',
    status: 400,
  },
  OverLimit: { type: smithy('OverLimit'), queryCode: 'OverLimit', status: 403 },
  PurgeQueueInProgress: {
    type: smithy('PurgeQueueInProgress'),
    queryCode: legacy('PurgeQueueInProgress'),
    status: 403,
  },
  QueueDeletedRecently: {
    type: smithy('QueueDeletedRecently'),
    queryCode: legacy('QueueDeletedRecently'),
    status: 400,
  },
  QueueDoesNotExist: {
    type: smithy('QueueDoesNotExist'),
    queryCode: legacy('NonExistentQueue'),
    status: 400,
  },
  QueueNameExists: {
    type: smithy('QueueNameExists'),
    queryCode: 'QueueAlreadyExists',
    status: 400,
  },
  ReceiptHandleIsInvalid: {
    type: smithy('ReceiptHandleIsInvalid'),
    queryCode: 'ReceiptHandleIsInvalid',
    status: 404,
  },
  RequestEntityTooLarge: {
    type: coral('RequestEntityTooLargeException'),
    queryCode: 'RequestEntityTooLarge',
    status: 413,
  },
  RequestThrottled: {
    type: smithy('RequestThrottled'),
    queryCode: 'RequestThrottled',
    status: 403,
  },
  ServiceUnavailable: {
    type: coral('ServiceUnavailableException'),
    queryCode: 'ServiceUnavailable',
    status: 503,
  },
  TooManyEntriesInBatchRequest: {
    type: smithy('TooManyEntriesInBatchRequest'),
    queryCode: legacy('TooManyEntriesInBatchRequest'),
    status: 400,
  },
  UnsupportedOperation: {
    type: smithy('UnsupportedOperation'),
    queryCode: legacy('UnsupportedOperation'),
    status: 400,
  },
} as const;

export type ErrorName = keyof typeof errorCatalogue;

/** An error to be answered to the caller. Anything else that is thrown is a bug or an outage. */
export class SqsError extends Error {
  override readonly name = 'SqsError';
  readonly errorName: ErrorName;
  /** The text for the Query protocol, where AWS words it differently. */
  readonly queryMessage: string;

  /** @param cause what the log should tell, where the answer does not, with the original error as its own cause */
  constructor(
    errorName: ErrorName,
    message: string,
    queryMessage: string = message,
    cause?: Error,
  ) {
    super(message, { cause });
    this.errorName = errorName;
    this.queryMessage = queryMessage;
  }

  get type(): string {
    return errorCatalogue[this.errorName].type;
  }

  get queryCode(): string {
    return errorCatalogue[this.errorName].queryCode;
  }

  get status(): number {
    return errorCatalogue[this.errorName].status;
  }

  get isSenderFault(): boolean {
    return this.status < 500;
  }
}

export function queueDoesNotExist(): SqsError {
  return new SqsError(
    'QueueDoesNotExist',
    'The specified queue does not exist.',
    'The specified queue does not exist for this wsdl version.',
  );
}

/** Answered when what a request is about stays locked for longer than it may wait. */
export function messageBusy(): SqsError {
  return new SqsError(
    'ServiceUnavailable',
    'A transaction that has not ended yet is at work on the same message or message group. Try again.',
  );
}

export function missingParameter(name: string): SqsError {
  return new SqsError('MissingParameter', `The request must contain the parameter ${name}.`);
}

export function invalidParameter(value: unknown, name: string, reason: string): SqsError {
  return new SqsError(
    'InvalidParameterValue',
    `Value ${value} for parameter ${name} is invalid. Reason: ${reason}`,
  );
}

export function unknownAttribute(name: string): SqsError {
  return new SqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
}

export function invalidReceiptHandle(receiptHandle: string): SqsError {
  return new SqsError(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${receiptHandle}" is not a valid receipt handle.`,
  );
}
