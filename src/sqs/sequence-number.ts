/** Makes every sequence number 20 digits long, so that they sort alike as numbers and as texts. */
const offset = 10n ** 19n;

/** The SequenceNumber of a FIFO message, from its id. */
export function sequenceNumber(messageId: string): string {
  return String(offset + BigInt(messageId));
}
