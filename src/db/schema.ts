import type { Generated } from 'kysely';
import type { QueueSettings } from '../sqs/queue-attributes.ts';

/** The tables that TypeScript reads by itself. Everything that changes state is an SQL function. */
export interface Database {
  'trunkline.queues': QueuesTable;
}

interface QueuesTable extends QueueSettings {
  /** bigint, which pg gives as text */
  id: Generated<string>;
  account_id: string;
  name: string;
  created_at: Date;
  modified_at: Date;
}
