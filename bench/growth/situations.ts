import type { Client } from 'pg';
import { createQueue, fillFifo, fillStandard, receiveMany } from './fill.ts';

/** A queue in a certain state. Each is in a database of its own, so that the others do not weigh on it. */
export interface Situation {
  name: string;
  /** Answers the name of the queue. */
  prepare(client: Client): Promise<string>;
}

/** Always there beside what is hidden, so that there is something to receive. */
const visible = 1_000;

const short = new Intl.NumberFormat('en', { notation: 'compact' });

function stored(count: number): Situation {
  return {
    name: `${short.format(count)} stored`,
    async prepare(client) {
      const queueName = await createQueue(client);
      await fillStandard(client, count);
      return queueName;
    },
  };
}

function inFlight(count: number): Situation {
  return {
    name: `${short.format(count)} in flight`,
    async prepare(client) {
      const queueName = await createQueue(client);
      await fillStandard(client, count + visible);
      await receiveMany(client, queueName, count);
      return queueName;
    },
  };
}

function delayed(count: number): Situation {
  return {
    name: `${short.format(count)} delayed`,
    async prepare(client) {
      const queueName = await createQueue(client);
      await fillStandard(client, count, 900);
      await fillStandard(client, visible);
      return queueName;
    },
  };
}

function groups(count: number): Situation {
  return {
    name: `FIFO, ${short.format(count)} group${count > 1 ? 's' : ''}`,
    async prepare(client) {
      const queueName = await createQueue(client, true);
      await fillFifo(client, Math.max(count, visible), count);
      return queueName;
    },
  };
}

function blockedGroup(count: number): Situation {
  return {
    name: `FIFO, 1K groups and a blocked one of ${short.format(count)}`,
    async prepare(client) {
      const queueName = await createQueue(client, true);
      await fillFifo(client, count, 1, 'blocked');
      await receiveMany(client, queueName, 1);
      await fillFifo(client, visible, 1_000);
      return queueName;
    },
  };
}

/** In a quick run without the largest, and with smaller ones in place of those that take long to fill. */
export function situations(isQuick: boolean): Situation[] {
  const hidden = isQuick ? 20_000 : 1_000_000;
  const many = isQuick ? 20_000 : 100_000;
  return [
    stored(1_000),
    stored(100_000),
    stored(1_000_000),
    ...(isQuick ? [] : [stored(10_000_000)]),
    inFlight(1_000),
    inFlight(many),
    delayed(hidden),
    groups(1),
    groups(1_000),
    groups(many),
    blockedGroup(hidden),
  ];
}
