import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { Ownership } from './ownership.ts';
import { limitPostgresLog } from './postgres-log.ts';
import { PortTakenError, type Postmaster, startPostmaster } from './postmaster.ts';

const FIRST_PAUSE_MS = 100;

const LONGEST_PAUSE_MS = 15_000;

/** With the pauses above, about a minute and a half of trying. */
const MAX_FAILURES = 12;

/** A PostgreSQL that ran this long was fine, so its end is a new incident. */
const STABLE_AFTER_MS = 60_000;

const LOG_CHECK_INTERVAL_MS = 60_000;

export interface Supervisor {
  /** Resolves when PostgreSQL cannot be kept running and no further attempt is made. */
  gaveUp: Promise<EmbeddedPostgresError>;
  stop(): Promise<void>;
}

/**
 * Keeps PostgreSQL running: when it ends by itself it is started again, on the same port so that
 * connection pools find it. Also keeps its log bounded.
 */
export function superviseCluster(
  cluster: Cluster,
  ownership: Ownership,
  port: number,
  first: Postmaster,
): Supervisor {
  const stopping = new AbortController();
  let current: Postmaster | undefined = first;
  let giveUp: (error: EmbeddedPostgresError) => void;
  const gaveUp = new Promise<EmbeddedPostgresError>((resolve) => {
    giveUp = resolve;
  });

  const supervise = async () => {
    let failures = 0;
    while (current !== undefined) {
      const startedAt = performance.now();
      const reason = await current.ended;
      current = undefined;
      if (stopping.signal.aborted) return;
      cluster.log(`PostgreSQL ${reason} unexpectedly; starting it again.`);
      if (performance.now() - startedAt > STABLE_AFTER_MS) failures = 0;
      ({ postmaster: current, failures } = await restart(failures));
      if (stopping.signal.aborted) await current?.stop();
    }
  };

  const restart = async (earlierFailures: number) => {
    let lastError: unknown = new Error('it ends again and again');
    for (let failures = earlierFailures + 1; failures <= MAX_FAILURES; failures += 1) {
      try {
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
        await sleep(pauseMs, undefined, { signal: stopping.signal });
        if (!(await ownership.isHeld())) {
          // Starting it again would fight with another server over the directory's new content.
          lastError = new Error(`the data directory ${cluster.home} was deleted or taken over`);
          break;
        }
        const postmaster = await startPostmaster(cluster, port, stopping.signal);
        cluster.log('PostgreSQL is running again.');
        return { postmaster, failures };
      } catch (error) {
        if (stopping.signal.aborted) return { postmaster: undefined, failures };
        lastError = error;
        cluster.log(`PostgreSQL could not be started again: ${describeFailure(error, port)}`);
      }
    }
    giveUp(
      new EmbeddedPostgresError(
        `PostgreSQL cannot be kept running (${describeFailure(lastError, port)}). See ` +
          `${cluster.logFile}, then restart Trunkline.`,
        { cause: lastError },
      ),
    );
    return { postmaster: undefined, failures: MAX_FAILURES };
  };

  const supervision = supervise();
  const logCheck = setInterval(() => {
    limitPostgresLog(cluster.logFile).catch((error: unknown) => {
      cluster.log(`Cannot limit the size of ${cluster.logFile}: ${String(error)}`);
    });
  }, LOG_CHECK_INTERVAL_MS);
  logCheck.unref();

  return {
    gaveUp,
    async stop() {
      clearInterval(logCheck);
      stopping.abort();
      await current?.stop();
      await supervision;
    },
  };
}

function describeFailure(error: unknown, port: number): string {
  if (error instanceof PortTakenError) return `another program listens on its port ${port}`;
  return error instanceof Error ? error.message : String(error);
}
