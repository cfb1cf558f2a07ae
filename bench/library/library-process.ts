import { fork } from 'node:child_process';
import { endProcess, ownSession } from '../harness/child-process.ts';
import type { CloseAtEnd } from '../harness/closers.ts';
import { nodeOfPrograms } from '../harness/node.ts';
import { compiledBench } from '../harness/paths.ts';
import type { Answer, Task } from './worker.ts';

export interface LibraryProcess {
  name: string;
  /** Answers how many seconds it took. */
  perform(what: Task['what'], count?: number): Promise<number>;
}

/** Starts a library in a process of its own, which is ended with the run; resolves when it is connected. */
export async function startLibrary(
  name: string,
  modulePath: string,
  connectionString: string,
  closeAtEnd: CloseAtEnd,
): Promise<LibraryProcess> {
  const child = fork(compiledBench('library/worker.js'), [modulePath, connectionString], {
    ...ownSession,
    execPath: nodeOfPrograms,
  });
  closeAtEnd(() => endProcess(child));
  const nextAnswer = () =>
    new Promise<number>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`${name} ended with code ${code}.`)));
      child.once('message', (answer: Answer) => {
        child.removeAllListeners('exit');
        if ('error' in answer) {
          reject(new Error(`${name}: ${answer.error}`));
        } else {
          resolve(answer.seconds);
        }
      });
    });
  await nextAnswer();
  return {
    name,
    perform(what, count = 0) {
      const answer = nextAnswer();
      const task: Task = { what, count };
      child.send(task);
      return answer;
    },
  };
}
