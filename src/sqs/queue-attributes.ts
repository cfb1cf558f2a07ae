import { invalidAttributeValue, SqsError, unknownAttribute } from './errors.ts';
import { isWithin, limits, type Range } from './limits.ts';
import { addressFromArn } from './queue-address.ts';

/** The settable attributes of a queue, by the columns that hold them. */
export interface QueueSettings {
  visibility_timeout_seconds: number;
  delay_seconds: number;
  maximum_message_size_bytes: number;
  message_retention_seconds: number;
  receive_wait_seconds: number;
  policy: string | null;
  dead_letter_target_arn: string | null;
  max_receive_count: number | null;
  redrive_allow_policy: string | null;
  kms_master_key_id: string | null;
  kms_data_key_reuse_seconds: number | null;
  is_sse_managed: boolean;
  is_fifo: boolean;
  content_based_deduplication: boolean;
  deduplication_scope: string;
  fifo_throughput_limit: string;
}

type Changes = Partial<QueueSettings>;

interface AttributeDefinition {
  /** Parses the wire's text. @throws {SqsError} InvalidAttributeValue or InvalidParameterValue */
  parse(value: string): Changes;
  /** The wire's text, or undefined where the queue has none. */
  render(settings: QueueSettings): string | undefined;
  /** Which error a standard queue gets for it; absent where it applies to every queue. */
  fifoOnly?: (name: string) => SqsError;
}

function parseInteger(name: string, value: string, range: Range): number {
  if (!/^\d{1,9}$/.test(value) || !isWithin(Number(value), range)) {
    throw invalidAttributeValue(name);
  }
  return Number(value);
}

/** AWS takes any capitalisation and answers lower case. */
function parseFlag(name: string, value: string): boolean {
  const lower = value.toLowerCase();
  if (lower !== 'true' && lower !== 'false') {
    throw invalidAttributeValue(name);
  }
  return lower === 'true';
}

function parseOneOf(name: string, value: string, allowed: readonly string[]): string {
  if (!allowed.includes(value)) {
    throw invalidAttributeValue(name);
  }
  return value;
}

function parseObject(value: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? { ...parsed }
      : undefined;
  } catch {
    return undefined;
  }
}

function parseRedrivePolicy(value: string): Changes {
  if (value === '') {
    return { dead_letter_target_arn: null, max_receive_count: null };
  }
  const invalid = (reason: string) =>
    new SqsError(
      'InvalidParameterValue',
      `Value ${value} for parameter RedrivePolicy is invalid. Reason: ${reason}`,
    );
  const policy = parseObject(value);
  if (policy === undefined) {
    throw new SqsError(
      'InvalidParameterValue',
      'Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.',
    );
  }
  for (const member of ['maxReceiveCount', 'deadLetterTargetArn']) {
    if (policy[member] === undefined || policy[member] === null) {
      throw invalid(`Redrive policy does not contain mandatory attribute: ${member}.`);
    }
  }
  const { maxReceiveCount, deadLetterTargetArn, ...others } = policy;
  if (Object.keys(others).length > 0) {
    throw invalid(
      'Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].',
    );
  }
  const count = /^\d{1,9}$/.test(String(maxReceiveCount)) ? Number(maxReceiveCount) : 0;
  if (count < 1 || count > 1000) {
    throw invalid(
      `Invalid value for maxReceiveCount: ${maxReceiveCount}, valid values are from 1 to 1000 both inclusive.`,
    );
  }
  if (
    typeof deadLetterTargetArn !== 'string' ||
    addressFromArn(deadLetterTargetArn) === undefined
  ) {
    throw invalid('Dead-letter target ARN should be fully qualified ARN.');
  }
  return { dead_letter_target_arn: deadLetterTargetArn, max_receive_count: count };
}

function parseRedriveAllowPolicy(value: string): Changes {
  if (value === '') {
    return { redrive_allow_policy: null };
  }
  const { redrivePermission, sourceQueueArns, ...others } = parseObject(value) ?? {};
  const isPermission = ['allowAll', 'denyAll', 'byQueue'].includes(String(redrivePermission));
  if (!isPermission || Object.keys(others).length > 0) {
    throw new SqsError(
      'InvalidParameterValue',
      "Invalid value for the parameter RedriveAllowPolicy. Reason: Amazon SQS can't create the redrive allow policy, as it’s in an unsupported format.",
    );
  }
  const invalid = (reason: string) =>
    new SqsError(
      'InvalidParameterValue',
      `Value ${value} for parameter RedriveAllowPolicy is invalid. Reason: Amazon SQS can't create the redrive allow policy. ${reason}`,
    );
  const sources = Array.isArray(sourceQueueArns) ? sourceQueueArns : [];
  if (redrivePermission !== 'byQueue' && sourceQueueArns !== undefined) {
    throw invalid(
      'To specify one or more source queue ARNs, you must set redrivePermission to byQueue.',
    );
  }
  if (redrivePermission === 'byQueue' && sources.length === 0) {
    throw invalid(
      'When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.',
    );
  }
  if (sources.length > 10) {
    throw invalid('The maximum number of source queue ARNs you can specify is 10.');
  }
  return { redrive_allow_policy: JSON.stringify(JSON.parse(value)) };
}

function parsePolicy(value: string): Changes {
  if (value === '') {
    return { policy: null };
  }
  const policy = parseObject(value);
  const statements = Array.isArray(policy?.Statement) ? policy.Statement : [policy?.Statement];
  const isWellFormed =
    statements.length > 0 && statements.every((one) => typeof one === 'object' && one !== null);
  if (!isWellFormed) {
    throw invalidAttributeValue('Policy');
  }
  return { policy: value };
}

function integerAttribute(
  name: string,
  column: {
    [Column in keyof QueueSettings]: QueueSettings[Column] extends number ? Column : never;
  }[keyof QueueSettings],
  range: Range,
): AttributeDefinition {
  return {
    parse: (value) => ({ [column]: parseInteger(name, value, range) }),
    render: (settings) => String(settings[column]),
  };
}

const onlyOnFifo = (name: string) =>
  new SqsError(
    'InvalidAttributeName',
    `You can specify the ${name} only when FifoQueue is set to true.`,
  );

const settable: Record<string, AttributeDefinition> = {
  VisibilityTimeout: integerAttribute(
    'VisibilityTimeout',
    'visibility_timeout_seconds',
    limits.visibilityTimeoutSeconds,
  ),
  DelaySeconds: integerAttribute('DelaySeconds', 'delay_seconds', limits.delaySeconds),
  MaximumMessageSize: integerAttribute(
    'MaximumMessageSize',
    'maximum_message_size_bytes',
    limits.maximumMessageSizeBytes,
  ),
  MessageRetentionPeriod: integerAttribute(
    'MessageRetentionPeriod',
    'message_retention_seconds',
    limits.messageRetentionSeconds,
  ),
  ReceiveMessageWaitTimeSeconds: integerAttribute(
    'ReceiveMessageWaitTimeSeconds',
    'receive_wait_seconds',
    limits.receiveWaitSeconds,
  ),
  Policy: { parse: parsePolicy, render: (settings) => settings.policy ?? undefined },
  RedrivePolicy: {
    parse: parseRedrivePolicy,
    render: ({
      dead_letter_target_arn: deadLetterTargetArn,
      max_receive_count: maxReceiveCount,
    }) =>
      deadLetterTargetArn === null
        ? undefined
        : JSON.stringify({ deadLetterTargetArn, maxReceiveCount }),
  },
  RedriveAllowPolicy: {
    parse: parseRedriveAllowPolicy,
    render: (settings) => settings.redrive_allow_policy ?? undefined,
  },
  // A KMS key turns the managed encryption off, and taking the key away does not turn it on again.
  KmsMasterKeyId: {
    parse: (value) =>
      value === ''
        ? { kms_master_key_id: null, is_sse_managed: false }
        : { kms_master_key_id: value, is_sse_managed: false },
    render: (settings) => settings.kms_master_key_id ?? undefined,
  },
  KmsDataKeyReusePeriodSeconds: {
    parse: (value) => ({
      kms_data_key_reuse_seconds: parseInteger(
        'KmsDataKeyReusePeriodSeconds',
        value,
        limits.kmsDataKeyReuseSeconds,
      ),
    }),
    render: (settings) =>
      settings.kms_master_key_id === null
        ? undefined
        : String(settings.kms_data_key_reuse_seconds ?? 300),
  },
  SqsManagedSseEnabled: {
    parse: (value) =>
      parseFlag('SqsManagedSseEnabled', value)
        ? { is_sse_managed: true, kms_master_key_id: null, kms_data_key_reuse_seconds: null }
        : { is_sse_managed: false },
    render: (settings) => String(settings.is_sse_managed),
  },
  FifoQueue: {
    parse: (value) => ({ is_fifo: parseFlag('FifoQueue', value) }),
    render: (settings) => (settings.is_fifo ? 'true' : undefined),
    fifoOnly: unknownAttribute,
  },
  ContentBasedDeduplication: {
    parse: (value) => ({
      content_based_deduplication: parseFlag('ContentBasedDeduplication', value),
    }),
    render: (settings) =>
      settings.is_fifo ? String(settings.content_based_deduplication) : undefined,
    fifoOnly: unknownAttribute,
  },
  DeduplicationScope: {
    parse: (value) => ({
      deduplication_scope: parseOneOf('DeduplicationScope', value, ['queue', 'messageGroup']),
    }),
    render: (settings) => (settings.is_fifo ? settings.deduplication_scope : undefined),
    fifoOnly: onlyOnFifo,
  },
  FifoThroughputLimit: {
    parse: (value) => ({
      fifo_throughput_limit: parseOneOf('FifoThroughputLimit', value, [
        'perQueue',
        'perMessageGroupId',
      ]),
    }),
    render: (settings) => (settings.is_fifo ? settings.fifo_throughput_limit : undefined),
    fifoOnly: onlyOnFifo,
  },
};

const readOnly = [
  'QueueArn',
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
  'CreatedTimestamp',
  'LastModifiedTimestamp',
];

/**
 * Parses the attributes of CreateQueue or SetQueueAttributes for a queue of the given kind.
 *
 * @throws {SqsError} InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue
 */
export function parseQueueAttributes(given: Record<string, string>, isFifo: boolean): Changes {
  if (given.KmsMasterKeyId && given.SqsManagedSseEnabled?.toLowerCase() === 'true') {
    throw new SqsError(
      'InvalidAttributeName',
      'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
    );
  }
  let changes: Changes = {};
  for (const [name, value] of Object.entries(given)) {
    const definition = Object.hasOwn(settable, name) ? settable[name] : undefined;
    if (definition === undefined) {
      throw unknownAttribute(name);
    }
    if (definition.fifoOnly !== undefined && !isFifo) {
      throw definition.fifoOnly(name);
    }
    changes = { ...changes, ...definition.parse(value) };
  }
  return changes;
}

/** The attribute that a column of queue settings belongs to. */
export function attributeOfColumn(column: string): string {
  const names: Record<string, string> = {
    visibility_timeout_seconds: 'VisibilityTimeout',
    delay_seconds: 'DelaySeconds',
    maximum_message_size_bytes: 'MaximumMessageSize',
    message_retention_seconds: 'MessageRetentionPeriod',
    receive_wait_seconds: 'ReceiveMessageWaitTimeSeconds',
    policy: 'Policy',
    dead_letter_target_arn: 'RedrivePolicy',
    max_receive_count: 'RedrivePolicy',
    redrive_allow_policy: 'RedriveAllowPolicy',
    kms_master_key_id: 'KmsMasterKeyId',
    kms_data_key_reuse_seconds: 'KmsDataKeyReusePeriodSeconds',
    is_sse_managed: 'SqsManagedSseEnabled',
    is_fifo: 'FifoQueue',
    content_based_deduplication: 'ContentBasedDeduplication',
    deduplication_scope: 'DeduplicationScope',
    fifo_throughput_limit: 'FifoThroughputLimit',
  };
  return names[column] ?? column;
}

export interface QueueFacts {
  arn: string;
  createdAt: Date;
  modifiedAt: Date;
  counts: { visible: number; inFlight: number; delayed: number };
}

/** True when answering these attributes takes a count of the queue's messages. */
export function needsCounts(names: readonly string[]): boolean {
  return names.some((name) => name === 'All' || name.startsWith('ApproximateNumber'));
}

/** @throws {SqsError} InvalidAttributeName for a name that no queue has */
export function requireKnownAttributes(names: readonly string[]): void {
  for (const name of names) {
    if (name !== 'All' && !Object.hasOwn(settable, name) && !readOnly.includes(name)) {
      throw unknownAttribute(name);
    }
  }
}

/** The attributes of a queue by name, those asked for and only where the queue has a value. */
export function renderQueueAttributes(
  names: readonly string[],
  settings: QueueSettings,
  facts: QueueFacts,
): Record<string, string> | undefined {
  const all: Record<string, string | undefined> = {
    QueueArn: facts.arn,
    ApproximateNumberOfMessages: String(facts.counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(facts.counts.inFlight),
    ApproximateNumberOfMessagesDelayed: String(facts.counts.delayed),
    CreatedTimestamp: String(Math.floor(facts.createdAt.getTime() / 1000)),
    LastModifiedTimestamp: String(Math.floor(facts.modifiedAt.getTime() / 1000)),
  };
  for (const [name, definition] of Object.entries(settable)) {
    all[name] = definition.render(settings);
  }
  const asked: Record<string, string> = {};
  for (const [name, value] of Object.entries(all)) {
    if (value !== undefined && (names.includes('All') || names.includes(name))) {
      asked[name] = value;
    }
  }
  return Object.keys(asked).length > 0 ? asked : undefined;
}
