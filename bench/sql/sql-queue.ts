import type { Client } from 'pg';

/** A queue that is used by SQL statements, each a transaction of its own. */
export interface SqlQueue {
  name: string;
  /** Sets up what is not there, and removes all messages. */
  empty(client: Client): Promise<void>;
  /** Answers how many messages were sent. */
  send(client: Client, count: number): Promise<number>;
  /** Receives up to so many messages, then deletes them; answers how many there were. */
  drain(client: Client, count: number): Promise<number>;
}
