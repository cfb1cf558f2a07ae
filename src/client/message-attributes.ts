import type { MessageAttribute } from '../sqs/message-attributes.ts';

/** An attribute of a message: text for the types `String` and `Number`, bytes for `Binary`. */
export interface MessageAttributeValue {
  /** `String`, `Number` or `Binary`, with a label of your own behind a dot if you like. */
  dataType: string;
  stringValue?: string | undefined;
  binaryValue?: Uint8Array | undefined;
}

export type MessageAttributeValues = Readonly<Record<string, MessageAttributeValue>>;

/** As SQS writes them in JSON, which is how they are stored. */
export type StoredAttributes = Record<string, MessageAttribute>;

export function toStoredAttributes(
  attributes: MessageAttributeValues | undefined,
): StoredAttributes | undefined {
  return (
    attributes &&
    Object.fromEntries(
      Object.entries(attributes).map(([name, { dataType, stringValue, binaryValue }]) => [
        name,
        {
          DataType: dataType,
          ...(stringValue !== undefined && { StringValue: stringValue }),
          ...(binaryValue !== undefined && {
            BinaryValue: Buffer.from(binaryValue).toString('base64'),
          }),
        },
      ]),
    )
  );
}

export function fromStoredAttributes(stored: StoredAttributes | null): MessageAttributeValues {
  return Object.fromEntries(
    Object.entries(stored ?? {}).map(([name, { DataType, StringValue, BinaryValue }]) => [
      name,
      {
        dataType: DataType,
        ...(StringValue !== undefined && { stringValue: StringValue }),
        ...(BinaryValue !== undefined && {
          binaryValue: new Uint8Array(Buffer.from(BinaryValue, 'base64')),
        }),
      },
    ]),
  );
}
