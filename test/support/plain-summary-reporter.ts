import type { Reporter, TestModule } from 'vitest/node';

/** Closes a run with one line that scripts can read. */
export default class PlainSummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let skipped = 0;
    // A file that could not be run, a failed hook, or an error outside of any test is a failure too.
    let failed = unhandledErrors.length;
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        passed += Number(state === 'passed');
        failed += Number(state === 'failed');
        skipped += Number(state === 'skipped');
      }
      for (const suite of [module, ...module.children.allSuites()]) {
        failed += suite.errors().length;
      }
    }
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
