/** The tables that TypeScript reads by itself. Everything that changes state is an SQL function. */
export interface Database {
  'trunkline.queues': QueuesTable;
}

interface QueuesTable {
  /** bigint, which pg gives as text */
  id: string;
  account_id: string;
  name: string;
  is_fifo: boolean;
  receive_wait_seconds: number;
  content_based_deduplication: boolean;
}
