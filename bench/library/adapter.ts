/** A queue library, as the benchmark drives it. */
export interface Adapter {
  /** Sends so many messages, in calls of a thousand. */
  enqueue(count: number): Promise<void>;
  /** Has a handler that does nothing handle so many messages, until the database has all acknowledged. */
  consume(count: number): Promise<void>;
  /** Ends what consumes and removes what is acknowledged, after the time is taken. */
  stopConsuming(): Promise<void>;
}

export interface AdapterModule {
  open(connectionString: string): Promise<Adapter>;
}

export const enqueueBatch = 1_000;
