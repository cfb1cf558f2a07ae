import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Slim container images lack `ps`; everything but Linux lacks `/proc`. */
const HAS_PROC = process.platform === 'linux';

const MAX_PROCESS_LIST_BYTES = 64 * 1024 * 1024;

export interface RunningProcess {
  pid: number;
  uid: number;
  /** The arguments joined by spaces, as `ps` shows them. */
  command: string;
}

/**
 * All processes this one can see. Zombies have no command and are left out: they hold nothing any more,
 * though `kill -0` still finds them until their parent reaps them (which pid 1 of a container may never do).
 */
export async function listProcesses(): Promise<RunningProcess[]> {
  return HAS_PROC ? listProc() : listPs();
}

async function listProc(): Promise<RunningProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(pids.map((pid) => readProc(Number(pid))));
  return processes.filter((process) => process !== undefined);
}

async function readProc(pid: number): Promise<RunningProcess | undefined> {
  try {
    // Not /proc/<pid>/cwd, which would name the cluster directly: a container's root may not read that of
    // another user's process (it lacks CAP_SYS_PTRACE), whereas the command line is open to all.
    const [command, { uid }] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      stat(`/proc/${pid}`),
    ]);
    return command === '' ? undefined : { pid, uid, command: command.replaceAll('\0', ' ') };
  } catch {
    return undefined; // It ended between the listing and the reading, or is hidden from this user.
  }
}

async function listPs(): Promise<RunningProcess[]> {
  const { stdout } = await execute('ps', ['-axww', '-o', 'pid=,uid=,command='], {
    maxBuffer: MAX_PROCESS_LIST_BYTES,
  });
  return [...stdout.matchAll(/^\s*(\d+)\s+(-?\d+)\s+(.*)$/gm)].map(([, pid, uid, command]) => ({
    pid: Number(pid),
    uid: Number(uid),
    command: `${command} `,
  }));
}

/**
 * When a process started, in a form only good for comparing: with the pid it names a process for good,
 * where a pid alone is reused. Undefined when there is no such process or it is a zombie.
 */
export async function readStartTime(pid: number): Promise<string | undefined> {
  try {
    return HAS_PROC ? await readProcStartTime(pid) : await readPsStartTime(pid);
  } catch {
    return undefined; // No such process: /proc has no entry, and ps exits with 1.
  }
}

async function readProcStartTime(pid: number): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in parentheses and may hold anything, spaces included. After
  // it come the state and, 19 fields on, the start in clock ticks since boot: proc(5), field 22.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

async function readPsStartTime(pid: number): Promise<string | undefined> {
  const { stdout } = await execute('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [state, ...startTime] = stdout.trim().split(/\s+/);
  return state === undefined || state.startsWith('Z') ? undefined : startTime.join(' ');
}
