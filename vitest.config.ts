import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // More files at once only compete for two cores and make waits inexact.
    maxWorkers: 2,
    reporters: ['default', './test/support/plain-summary-reporter.ts'],
    projects: [
      {
        test: {
          name: 'architecture',
          include: ['test/architecture/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'suite',
          include: ['test/**/*.test.ts'],
          exclude: ['test/architecture/**'],
          globalSetup: './test/support/postgres.ts',
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
