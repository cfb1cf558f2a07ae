/**
 * Judges a recorded history of a FIFO queue. Every call took effect at some moment between its start and
 * its end, nobody knows when; so a fault is only what no choice of moments explains. Times are in
 * milliseconds of one clock.
 */

interface Call {
  startMs: number;
  endMs: number;
}

/** A send whose transaction committed, or did not. It ends with the transaction. */
export interface SendRecord extends Call {
  group: string;
  deduplicationId: string;
  messageId: string;
  sequence: bigint;
  isCommitted: boolean;
}

/** A receive that was committed. A repeat by attempt id is one more, with the same handles. */
export interface ReceiveRecord extends Call {
  timeoutMs: number;
  messages: { messageId: string; sequence: bigint; group: string; receiptHandle: string }[];
}

/** A deletion that was committed. */
export interface DeletionRecord extends Call {
  receiptHandle: string;
  outcome: string;
}

export interface ChangeRecord extends Call {
  receiptHandle: string;
  timeoutMs: number;
  outcome: string;
}

export interface History {
  sends: SendRecord[];
  receives: ReceiveRecord[];
  deletions: DeletionRecord[];
  changes: ChangeRecord[];
}

interface Delivery extends Call {
  receiptHandle: string;
  timeoutMs: number;
}

interface Message {
  id: string;
  group: string;
  sequence: bigint;
  /** From the start of its first send to the first answer that told of it. */
  sent: Call;
  deliveries: Delivery[];
  deletions: DeletionRecord[];
}

/** What the clocks of database and recorder may drift apart while a message is in flight. */
const driftMs = 20;

/** The faults of a history after which the queue was drained, so that every message should be deleted. */
export function findFaults(history: History): string[] {
  const faults: string[] = [];
  const messages = sentMessages(history, faults);
  addDeliveries(history, messages, faults);
  addDeletions(history, messages, faults);
  for (const message of messages.values()) {
    checkEnd(message, faults);
    checkTimeouts(message, history, faults);
  }
  for (const group of byGroup(messages)) {
    checkSequence(group, faults);
    checkBlocking(group, history, faults);
  }
  return faults;
}

function sentMessages({ sends }: History, faults: string[]): Map<string, Message> {
  const messages = new Map<string, Message>();
  const byDeduplicationId = new Map<string, Message>();
  for (const send of sends.filter(({ isCommitted }) => isCommitted)) {
    const original = byDeduplicationId.get(send.deduplicationId);
    if (original === undefined) {
      const { messageId: id, group, sequence } = send;
      const sent = { startMs: send.startMs, endMs: send.endMs };
      const message = { id, group, sequence, sent, deliveries: [], deletions: [] };
      if (messages.has(id)) {
        faults.push(`${id} was answered to two deduplication ids.`);
      }
      messages.set(id, message);
      byDeduplicationId.set(send.deduplicationId, message);
      continue;
    }
    if (original.id !== send.messageId || original.sequence !== send.sequence) {
      faults.push(`${send.deduplicationId} made ${original.id} and ${send.messageId}.`);
    }
    original.sent.startMs = Math.min(original.sent.startMs, send.startMs);
    original.sent.endMs = Math.min(original.sent.endMs, send.endMs);
  }
  return messages;
}

function addDeliveries({ receives }: History, messages: Map<string, Message>, faults: string[]) {
  for (const { messages: received, startMs, endMs, timeoutMs } of receives) {
    for (const { messageId, sequence, group, receiptHandle } of received) {
      const message = messages.get(messageId);
      if (message === undefined) {
        faults.push(`${messageId} was delivered, but no send of it was committed.`);
        continue;
      }
      if (message.group !== group || message.sequence !== sequence) {
        faults.push(`${messageId} was delivered as ${sequence} of ${group}.`);
      }
      if (endMs < message.sent.startMs) {
        faults.push(`${messageId} was delivered before it was sent.`);
      }
      message.deliveries.push({ startMs, endMs, receiptHandle, timeoutMs });
    }
  }
}

function addDeletions({ deletions }: History, messages: Map<string, Message>, faults: string[]) {
  const messageOf = new Map<string, Message>();
  for (const message of messages.values()) {
    for (const { receiptHandle } of message.deliveries) {
      messageOf.set(receiptHandle, message);
    }
  }
  for (const deletion of deletions.filter(({ outcome }) => outcome === 'deleted')) {
    const message = messageOf.get(deletion.receiptHandle);
    if (message === undefined) {
      faults.push(`${deletion.receiptHandle} deleted a message, but was never given out.`);
    }
    message?.deletions.push(deletion);
  }
}

function checkEnd({ id, group, deliveries, deletions }: Message, faults: string[]): void {
  const [deletion, ...others] = deletions;
  if (deletion === undefined) {
    faults.push(`${id} of ${group} is lost: delivered ${deliveries.length} times, never deleted.`);
    return;
  }
  if (others.length > 0) {
    faults.push(`${id} was deleted ${1 + others.length} times.`);
  }
  if (deliveries.some(({ startMs }) => startMs > deletion.endMs)) {
    faults.push(`${id} was delivered after it was deleted.`);
  }
  const own = deliveries.filter(({ receiptHandle }) => receiptHandle === deletion.receiptHandle);
  const ownEndMs = Math.max(...own.map(({ endMs }) => endMs));
  const isSuperseded = deliveries.some(
    ({ receiptHandle, startMs, endMs }) =>
      receiptHandle !== deletion.receiptHandle && startMs > ownEndMs && endMs < deletion.startMs,
  );
  if (isSuperseded) {
    faults.push(`${id} was deleted by the handle of an earlier receive.`);
  }
}

/** The earliest and the latest moment at which the timeout of a handle may be over, as of a call. */
function timeoutEnd(
  deliveries: readonly Delivery[],
  changes: readonly ChangeRecord[],
  call: Call,
): { earliestMs: number; latestMs: number } {
  const settings = [...deliveries, ...changes].filter(({ startMs }) => startMs <= call.endMs);
  const before = settings.filter(({ endMs }) => endMs < call.startMs);
  // Of those that were over by then, the last may be any that did not end before another began.
  const lastStartMs = Math.max(...before.map(({ startMs }) => startMs));
  const candidates = settings.filter(({ endMs }) => endMs >= Math.min(lastStartMs, call.startMs));
  return {
    earliestMs: Math.min(...candidates.map(({ startMs, timeoutMs }) => startMs + timeoutMs)),
    latestMs: Math.max(...candidates.map(({ endMs, timeoutMs }) => endMs + timeoutMs)),
  };
}

const changesByHandle = new WeakMap<History, Map<string, ChangeRecord[]>>();

function changesOf(history: History, receiptHandle: string): ChangeRecord[] {
  let found = changesByHandle.get(history);
  if (found === undefined) {
    found = new Map();
    for (const change of history.changes.filter(({ outcome }) => outcome === 'changed')) {
      found.set(change.receiptHandle, [...(found.get(change.receiptHandle) ?? []), change]);
    }
    changesByHandle.set(history, found);
  }
  return found.get(receiptHandle) ?? [];
}

/** No second delivery within the timeout of one before, and no deletion outside of it. */
function checkTimeouts({ id, deliveries, deletions }: Message, history: History, faults: string[]) {
  const handles = new Set(deliveries.map(({ receiptHandle }) => receiptHandle));
  for (const handle of handles) {
    const own = deliveries.filter(({ receiptHandle }) => receiptHandle === handle);
    const ownEndMs = Math.max(...own.map(({ endMs }) => endMs));
    const changes = changesOf(history, handle);
    for (const other of deliveries) {
      const isLater = other.receiptHandle !== handle && other.startMs > ownEndMs;
      if (isLater && other.endMs + driftMs < timeoutEnd(own, changes, other).earliestMs) {
        faults.push(`${id} was delivered again within its visibility timeout.`);
      }
    }
    for (const deletion of deletions.filter(({ receiptHandle }) => receiptHandle === handle)) {
      if (deletion.startMs - driftMs > timeoutEnd(own, changes, deletion).latestMs) {
        faults.push(`${id} was deleted after its visibility timeout.`);
      }
    }
  }
}

/** The messages of each group in the order of their sequence numbers. */
function byGroup(messages: Map<string, Message>): Message[][] {
  const groups = new Map<string, Message[]>();
  for (const message of messages.values()) {
    const group = groups.get(message.group) ?? [];
    group.push(message);
    groups.set(message.group, group);
  }
  return [...groups.values()].map((group) =>
    group.sort((one, other) => (one.sequence < other.sequence ? -1 : 1)),
  );
}

/** Of two sends, one after the other, the later has the larger sequence number. */
function checkSequence(group: readonly Message[], faults: string[]): void {
  let latestStart: Message | undefined;
  let previous: Message | undefined;
  for (const message of group) {
    if (latestStart !== undefined && message.sent.endMs < latestStart.sent.startMs) {
      faults.push(`${message.id} was sent before ${latestStart.id}, and comes after it.`);
    }
    if (message.sequence === previous?.sequence) {
      faults.push(`${message.id} has the sequence number of ${previous.id}.`);
    }
    if (latestStart === undefined || message.sent.startMs > latestStart.sent.startMs) {
      latestStart = message;
    }
    previous = message;
  }
}

/** A message goes out when every earlier one of its group is deleted, or is in the same answer. */
function checkBlocking(group: readonly Message[], history: History, faults: string[]): void {
  const places = new Map(group.map(({ id }, place) => [id, place]));
  const deletedFromMs = group.map(({ deletions }) => deletions[0]?.startMs ?? Infinity);
  // For each place, the latest start of a deletion before it.
  const latestBeforeMs: number[] = [];
  let latestMs = Number.NEGATIVE_INFINITY;
  for (const fromMs of deletedFromMs) {
    latestBeforeMs.push(latestMs);
    latestMs = Math.max(latestMs, fromMs);
  }

  for (const { messages, endMs } of history.receives) {
    const answered = messages.flatMap(({ messageId }) => places.get(messageId) ?? []);
    const [first] = answered;
    if (first === undefined) {
      continue;
    }
    if (answered.some((place, index) => place <= (answered[index - 1] ?? -1))) {
      faults.push(`An answer has messages of ${group[0]?.group} out of order.`);
    }
    if ((latestBeforeMs[first] ?? 0) > endMs) {
      const blocking = group[deletedFromMs.findIndex((fromMs) => fromMs > endMs)];
      faults.push(`${group[first]?.id} was delivered before ${blocking?.id} was deleted.`);
    }
    for (let place = first; place < (answered.at(-1) ?? 0); place += 1) {
      if (!answered.includes(place) && (deletedFromMs[place] ?? 0) > endMs) {
        faults.push(`${group[place]?.id} was left out of an answer with later messages.`);
      }
    }
  }
}
