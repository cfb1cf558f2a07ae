import { describe, expect, it } from 'vitest';
import { findFaults, type History } from './history-checker.ts';

/** Made-up histories: the checker has to see what is wrong, and nothing where nothing is. */

function call(startMs: number, endMs = startMs + 10) {
  return { startMs, endMs };
}

function send(startMs: number, id: string, sequence: number, isCommitted = true) {
  return {
    ...call(startMs),
    group: 'g',
    deduplicationId: id,
    messageId: id,
    sequence: BigInt(sequence),
    isCommitted,
  };
}

function receive(startMs: number, ...received: [id: string, sequence: number, handle: string][]) {
  return {
    ...call(startMs),
    timeoutMs: 1_000,
    messages: received.map(([messageId, sequence, receiptHandle]) => ({
      messageId,
      sequence: BigInt(sequence),
      group: 'g',
      receiptHandle,
    })),
  };
}

function deletion(startMs: number, receiptHandle: string, outcome = 'deleted') {
  return { ...call(startMs), receiptHandle, outcome };
}

function change(startMs: number, receiptHandle: string, timeoutMs: number, outcome = 'changed') {
  return { ...call(startMs), receiptHandle, timeoutMs, outcome };
}

function history(parts: Partial<History>): History {
  return { sends: [], receives: [], deletions: [], changes: [], ...parts };
}

const sends = [send(0, 'a', 1), send(20, 'b', 2)];
const both = [['a', 1, 'A'] as const, ['b', 2, 'B'] as const].map(
  ([id, sequence, handle]): [string, number, string] => [id, sequence, handle],
);
const deletions = [deletion(100, 'A'), deletion(120, 'B')];

describe('A history without faults', () => {
  it.each<[string, History]>([
    ['is empty', history({})],
    [
      'delivers and deletes in order',
      history({ sends, receives: [receive(50, ...both)], deletions }),
    ],
    [
      'delivers the next message while the deletion of the one before is under way',
      history({
        sends,
        receives: [receive(50, ['a', 1, 'A']), receive(105, ['b', 2, 'B'])],
        deletions,
      }),
    ],
    [
      'delivers again after the timeout',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(1_055, ['a', 1, 'A2'])],
        deletions: [deletion(1_200, 'A', 'expired'), deletion(1_300, 'A2')],
      }),
    ],
    [
      'delivers again after a release',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(105, ['a', 1, 'A2'])],
        changes: [change(100, 'A', 0)],
        deletions: [deletion(200, 'A2')],
      }),
    ],
    [
      'repeats a send and a receive',
      history({
        sends: [send(0, 'a', 1), send(500, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(900, ['a', 1, 'A'])],
        deletions: [deletion(1_500, 'A')],
      }),
    ],
    [
      'rolls a send back and repeats it',
      history({
        sends: [{ ...send(0, 'x', 1, false), deduplicationId: 'a' }, send(20, 'a', 2)],
        receives: [receive(50, ['a', 2, 'A'])],
        deletions: [deletion(100, 'A')],
      }),
    ],
    [
      'deletes within an extended timeout',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A'])],
        changes: [change(900, 'A', 1_000)],
        deletions: [deletion(1_800, 'A')],
      }),
    ],
  ])('%s', (_name, recorded) => {
    expect(findFaults(recorded)).toEqual([]);
  });
});

describe('A history has a fault when a message', () => {
  it.each<[string, History, string]>([
    ['is never delivered', history({ sends: [send(0, 'a', 1)] }), 'is lost'],
    [
      'is delivered and never again',
      history({ sends: [send(0, 'a', 1)], receives: [receive(50, ['a', 1, 'A'])] }),
      'is lost',
    ],
    [
      'is delivered while an earlier one is in flight',
      history({
        sends,
        receives: [receive(50, ['a', 1, 'A']), receive(80, ['b', 2, 'B'])],
        deletions,
      }),
      'before a was deleted',
    ],
    [
      'overtakes one that comes later',
      history({
        sends,
        receives: [receive(50, ['b', 2, 'B']), receive(80, ['a', 1, 'A'])],
        deletions,
      }),
      'b was delivered before a was deleted',
    ],
    [
      'is before an earlier one in an answer',
      history({ sends, receives: [receive(50, ...[...both].reverse())], deletions }),
      'out of order',
    ],
    [
      'is left out between others',
      history({
        sends: [...sends, send(40, 'c', 3)],
        receives: [receive(60, ['a', 1, 'A'], ['c', 3, 'C']), receive(150, ['b', 2, 'B'])],
        deletions: [deletion(100, 'A'), deletion(180, 'B'), deletion(200, 'C')],
      }),
      'b was left out',
    ],
    [
      'is delivered after its deletion',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(2_000, ['a', 1, 'A2'])],
        deletions: [deletion(100, 'A')],
      }),
      'delivered after it was deleted',
    ],
    [
      'is delivered twice at a time',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(500, ['a', 1, 'A2'])],
        deletions: [deletion(600, 'A2')],
      }),
      'again within its visibility timeout',
    ],
    [
      'is delivered though its timeout was extended',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(1_200, ['a', 1, 'A2'])],
        changes: [change(900, 'A', 1_000)],
        deletions: [deletion(1_300, 'A2')],
      }),
      'again within its visibility timeout',
    ],
    [
      'is delivered though its receive was repeated',
      history({
        sends: [send(0, 'a', 1)],
        receives: [
          receive(50, ['a', 1, 'A']),
          receive(900, ['a', 1, 'A']),
          receive(1_200, ['a', 1, 'A2']),
        ],
        deletions: [deletion(1_300, 'A2')],
      }),
      'again within its visibility timeout',
    ],
    [
      'is deleted after its timeout',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A'])],
        deletions: [deletion(1_100, 'A')],
      }),
      'deleted after its visibility timeout',
    ],
    [
      'is deleted by the handle of an earlier receive',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A']), receive(105, ['a', 1, 'A2'])],
        changes: [change(100, 'A', 0)],
        deletions: [deletion(200, 'A')],
      }),
      'by the handle of an earlier receive',
    ],
    [
      'is deleted twice',
      history({
        sends: [send(0, 'a', 1)],
        receives: [receive(50, ['a', 1, 'A'])],
        deletions: [deletion(100, 'A'), deletion(150, 'A')],
      }),
      'deleted 2 times',
    ],
    [
      'is stored twice for one deduplication id',
      history({
        sends: [send(0, 'a', 1), { ...send(20, 'b', 2), deduplicationId: 'a' }],
        receives: [receive(50, ['a', 1, 'A'])],
        deletions: [deletion(100, 'A')],
      }),
      'a made a and b',
    ],
    [
      'answers a repeat with another sequence number',
      history({
        sends: [send(0, 'a', 1), send(20, 'a', 2)],
        receives: [receive(50, ['a', 1, 'A'])],
        deletions: [deletion(100, 'A')],
      }),
      'a made a and a',
    ],
    [
      'of a send that was rolled back is delivered',
      history({ sends: [send(0, 'a', 1, false)], receives: [receive(50, ['a', 1, 'A'])] }),
      'no send of it was committed',
    ],
    [
      'sent later has the smaller sequence number',
      history({
        sends: [send(0, 'a', 2), send(20, 'b', 1)],
        receives: [receive(50, ['b', 1, 'B'], ['a', 2, 'A'])],
        deletions,
      }),
      'a was sent before b, and comes after it',
    ],
  ])('%s', (_name, recorded, fault) => {
    expect(findFaults(recorded)).toContainEqual(expect.stringContaining(fault));
  });
});
