import { migrate } from 'trunkline/migrate';

/** Brings the schema `trunkline` of the database in DATABASE_URL up to date. */
await migrate(process.env.DATABASE_URL, (message) => process.stdout.write(`${message}\n`));
