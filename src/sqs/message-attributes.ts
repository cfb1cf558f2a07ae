import { createHash, type Hash, hash as hashOf } from 'node:crypto';

/** An attribute that passed validation; `BinaryValue` is base64. */
export interface MessageAttribute {
  DataType: string;
  StringValue?: string;
  BinaryValue?: string;
}

export type MessageAttributes = Record<string, MessageAttribute>;

/** Bytes that an attribute adds to a message: name, full type and raw value, in UTF-8. */
export function attributesSizeBytes(attributes: MessageAttributes | undefined): number {
  let size = 0;
  for (const [name, attribute] of Object.entries(attributes ?? {})) {
    size += Buffer.byteLength(name) + Buffer.byteLength(attribute.DataType);
    size += Buffer.byteLength(attribute.StringValue ?? '');
    size += Buffer.byteLength(attribute.BinaryValue ?? '', 'base64');
  }
  return size;
}

function updateWithLength(hash: Hash, bytes: Buffer): void {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(bytes.length);
  hash.update(length).update(bytes);
}

const stringTransport = Buffer.of(1);
const binaryTransport = Buffer.of(2);

/**
 * The checksum of message attributes: names in ascending order; name, type and value each behind its
 * length, and one byte between type and value that tells text from binary.
 * Source: "Calculating the MD5 message digest for message attributes" in the SQS developer guide.
 */
export function attributesMd5(attributes: MessageAttributes): string {
  const hash = createHash('md5');
  for (const name of Object.keys(attributes).sort()) {
    const attribute = attributes[name];
    if (attribute === undefined) {
      continue;
    }
    updateWithLength(hash, Buffer.from(name));
    updateWithLength(hash, Buffer.from(attribute.DataType));
    if (attribute.BinaryValue === undefined) {
      hash.update(stringTransport);
      updateWithLength(hash, Buffer.from(attribute.StringValue ?? ''));
    } else {
      hash.update(binaryTransport);
      updateWithLength(hash, Buffer.from(attribute.BinaryValue, 'base64'));
    }
  }
  return hash.digest('hex');
}

export function textMd5(text: string): string {
  return hashOf('md5', text);
}

/**
 * The message attributes that a receive asked for: `All`, exact names, and prefixes that end in `*` or `.*`.
 * `.*` after a prefix needs no period in the name, as on AWS. Unknown and illegal names match nothing.
 */
export class MessageAttributeSelection {
  readonly #names: ReadonlySet<string>;
  readonly #prefixes: ReadonlySet<string>;

  constructor(filters: readonly string[]) {
    const isPrefix = (filter: string) => filter.endsWith('*');
    this.#names = new Set(filters.filter((filter) => !isPrefix(filter)));
    this.#prefixes = new Set(
      filters.filter(isPrefix).map((filter) => filter.replace(/\.?\*$/, '')),
    );
  }

  of(attributes: MessageAttributes): MessageAttributes | undefined {
    const selected = Object.entries(attributes).filter(([name]) => this.#has(name));
    return selected.length > 0 ? Object.fromEntries(selected) : undefined;
  }

  #has(name: string): boolean {
    return this.#names.has('All') || this.#names.has(name) || this.#hasPrefixOf(name);
  }

  /** Looks for each prefix of the name, which is short, rather than at each that was asked for. */
  #hasPrefixOf(name: string): boolean {
    if (this.#prefixes.size === 0) {
      return false;
    }
    for (let length = 0; length <= name.length; length += 1) {
      if (this.#prefixes.has(name.slice(0, length))) {
        return true;
      }
    }
    return false;
  }
}
