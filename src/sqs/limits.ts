/** The numbers of the SQS documentation. A range is inclusive at both ends. */
export interface Range {
  minimum: number;
  maximum: number;
}

export const limits = {
  batchEntries: 10,
  batchEntryIdLength: 80,
  batchSizeBytes: 1_048_576,
  messageSizeBytes: 1_048_576,
  messageAttributes: 10,
  messageAttributeNameBytes: 256,
  messageAttributeTypeLength: 256,
  queueNameLength: 80,
  listedQueues: 1_000,
  tagsPerQueue: 50,
  delaySeconds: { minimum: 0, maximum: 900 },
  receiveMaxMessages: { minimum: 1, maximum: 10 },
  receiveWaitSeconds: { minimum: 0, maximum: 20 },
  visibilityTimeoutSeconds: { minimum: 0, maximum: 43_200 },
  maximumMessageSizeBytes: { minimum: 1_024, maximum: 1_048_576 },
  messageRetentionSeconds: { minimum: 60, maximum: 1_209_600 },
  kmsDataKeyReuseSeconds: { minimum: 60, maximum: 86_400 },
  inFlightMessagesStandard: 120_000,
  /** AWS allows 120 000 since late 2024; the documents that Trunkline follows say 20 000. */
  inFlightMessagesFifo: 20_000,
} as const;

export function isWithin(value: number, range: Range): boolean {
  return value >= range.minimum && value <= range.maximum;
}
