/**
 * Characters that a message may not hold: all but #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD and
 * #x10000 to #x10FFFF. A lone surrogate is outside too, which the `u` flag takes as one code point.
 * Source: SendMessage in the SQS API reference.
 */
const outsideXml = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;
const allOutsideXml = new RegExp(outsideXml, 'gu');

export function hasOnlyXmlCharacters(text: string): boolean {
  return !outsideXml.test(text);
}

/** For texts that repeat what a caller sent, and have to go into XML all the same. */
export function withoutForbiddenCharacters(text: string): string {
  return text.replace(allOutsideXml, '\u{FFFD}');
}

const identifier = /^[!-~]{1,128}$/;

/** Alphanumeric and punctuation characters, 1 to 128: the form of group, deduplication and attempt ids. */
export function isMessageIdentifier(text: string): boolean {
  return identifier.test(text);
}
