import { invalidParameter, SqsError } from './errors.ts';
import { limits } from './limits.ts';
import type { MessageAttribute, MessageAttributes } from './message-attributes.ts';
import type { MessageAttributeValue } from './shapes/messages.ts';
import { hasOnlyXmlCharacters } from './text.ts';

/** AWS uses the same texts for message attributes, which it calls user attributes, and system attributes. */
type AttributeKind = '(user)' | 'system';

const allowedName = /^[A-Za-z0-9_.À-ſ-]+$/;
const reservedName = /^(aws|amazon)\./i;
const allowedType = /^(String|Number|Binary)(\..*)?$/s;
/** Digits can be matched in one way only, or a long text that is no number would take quadratic time. */
const numberForm = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const numberDigits = 38;
/** A number is zero point its digits, times ten to a power. */
const largestPower = 128;

function invalid(message: string): SqsError {
  return new SqsError('InvalidParameterValue', message);
}

function requireName(name: string): void {
  if (name === '') {
    throw invalid('The request must contain non-empty message (user) attribute names.');
  }
  if (Buffer.byteLength(name) > limits.messageAttributeNameBytes) {
    throw invalid('Message (user) attribute name must be shorter than 256 bytes.');
  }
  if (reservedName.test(name)) {
    throw invalid(
      "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings are reserved for internal use.",
    );
  }
  if (name.startsWith('.')) {
    throw invalid("Message (user) attribute name must not begin with character '.'.");
  }
  if (name.endsWith('.')) {
    throw invalid("Message (user) attribute name must not end with character '.'.");
  }
  if (name.includes('..')) {
    throw invalid("Message (user) attribute name must not have successive '.' characters.");
  }
  if (!allowedName.test(name)) {
    throw invalid(
      `Invalid character in message (user) attribute name '${name}'. It can include alphanumeric characters, hyphens, underscores and periods.`,
    );
  }
}

/** Up to 38 digits of precision, from 10^-128 to 10^126. Source: message attribute data types in the guide. */
function isNumber(text: string): boolean {
  if (!numberForm.test(text)) {
    return false;
  }
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [, decimals = ''] = mantissa.split('.');
  const digits = mantissa.replace(/\D/g, '').replace(/^0+/, '');
  const power = digits.length - decimals.length + Number(exponent);
  return digits.length <= numberDigits && (digits === '' || power <= largestPower);
}

const base64Characters = /^[A-Za-z0-9+/]*={0,2}$/;

/** Not by a group for each four characters: some megabytes of them overflow the stack. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && base64Characters.test(text);
}

function requireValue(
  name: string,
  value: MessageAttributeValue,
  kind: AttributeKind,
): MessageAttribute {
  const attribute = `message ${kind} attribute '${name}'`;
  const Attribute = `Message ${kind} attribute '${name}'`;
  if (value.StringListValues !== undefined || value.BinaryListValues !== undefined) {
    throw new SqsError(
      'UnsupportedOperation',
      'Message attribute list values in SendMessage operation are not supported.',
    );
  }
  const { DataType, StringValue, BinaryValue } = value;
  if (DataType === undefined && StringValue === undefined && BinaryValue === undefined) {
    throw invalid(`The ${attribute} must contain a non-empty message attribute value.`);
  }
  if (!DataType) {
    throw invalid(`The ${attribute} must contain a non-empty message attribute type.`);
  }
  const [, prefix] = allowedType.exec(DataType) ?? [];
  if (prefix === undefined) {
    throw invalid(
      `The type of ${attribute} is invalid. You must use only the following supported type prefixes: Binary, Number, String.`,
    );
  }
  if (DataType.length > limits.messageAttributeTypeLength) {
    throw invalid(`Message ${kind} attribute type must be shorter than 256 bytes.`);
  }
  if (!hasOnlyXmlCharacters(DataType)) {
    throw invalid(`Invalid characters found in the type of ${attribute}.`);
  }
  if (StringValue !== undefined && BinaryValue !== undefined) {
    throw invalid(`${Attribute} must have a single value.`);
  }
  const isBinary = prefix === 'Binary';
  if ((isBinary ? StringValue : BinaryValue) !== undefined) {
    const field = isBinary ? 'Binary' : 'String';
    throw invalid(`${Attribute} with type '${prefix}' must use field '${field}'.`);
  }
  const given = isBinary ? BinaryValue : StringValue;
  if (!given) {
    throw invalid(`${Attribute} must contain a non-empty value of type '${prefix}'.`);
  }
  if (isBinary) {
    if (!isBase64(given)) {
      throw new SqsError('MalformedInput', `The value of ${attribute} is not valid base64.`);
    }
    return { DataType, BinaryValue: given };
  }
  if (!hasOnlyXmlCharacters(given)) {
    throw invalidParameter(given, `MessageAttribute '${name}'`, 'Invalid characters found.');
  }
  if (prefix === 'Number' && !isNumber(given)) {
    throw invalid(`Can't cast the value of ${attribute} to a number.`);
  }
  return { DataType, StringValue: given };
}

/** @throws {SqsError} InvalidParameterValue, UnsupportedOperation, MalformedInput */
export function requireMessageAttributes(
  given: Record<string, MessageAttributeValue> | undefined,
): MessageAttributes | undefined {
  const entries = Object.entries(given ?? {});
  if (entries.length === 0) {
    return undefined;
  }
  if (entries.length > limits.messageAttributes) {
    throw invalid(
      `Number of message attributes [${entries.length}] exceeds the allowed maximum [${limits.messageAttributes}].`,
    );
  }
  return Object.fromEntries(
    entries.map(([name, value]) => {
      requireName(name);
      return [name, requireValue(name, value, '(user)')];
    }),
  );
}

/**
 * The trace header among the system attributes, the only one that a sender may set.
 *
 * @throws {SqsError} InvalidParameterValue
 */
export function requireTraceHeader(
  given: Record<string, MessageAttributeValue> | undefined,
): string | undefined {
  let traceHeader: string | undefined;
  for (const [name, value] of Object.entries(given ?? {})) {
    if (name !== 'AWSTraceHeader') {
      throw invalid(`Message system attribute name '${name}' is invalid.`);
    }
    const { DataType, StringValue } = requireValue(name, value, 'system');
    if (DataType !== 'String' || StringValue === undefined) {
      throw invalid(
        `The type of message system attribute '${name}' is invalid. You must use only the following supported type prefixes: String.`,
      );
    }
    traceHeader = StringValue;
  }
  return traceHeader;
}
