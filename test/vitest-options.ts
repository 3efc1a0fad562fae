import { fileURLToPath } from 'node:url'
import { PlainLineReporter } from './support/plain-line-reporter.ts'
import { timeLimit } from './support/time-limit.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The tests that start Troupe, a server or a browser as a process of its own, wait for real time, or measure. */
export const LONG_TESTS = [
  'test/{browser,chaos,docs,e2e,escape,faults,watch}/**/*.test.ts',
  'test/{docs,examples}.test.ts',
  '**/*.long.test.ts',
]

export const sharedOptions = {
  root: at('..'),
  resolve: {
    alias: [
      { find: /^troupe$/, replacement: at('../src/index.ts') },
      { find: /^troupe\/(patterns|models|inspect)$/, replacement: at('../src/entries/$1.ts') },
      { find: /^troupe\/server$/, replacement: at('../src/surfaces/http/index.ts') },
      { find: /^troupe\/testing$/, replacement: at('../src/testing/index.ts') },
    ],
  },
  test: {
    setupFiles: ['test/support/fixed-seed.ts'],
    exclude: ['test/fixtures/**', 'node_modules/**', 'dist/**'],
    pool: 'forks' as const,
    // One worker per core: the default leaves one core idle, which is half of a small machine.
    maxWorkers: '100%',
    // These only end what hangs.
    testTimeout: timeLimit(180_000),
    hookTimeout: timeLimit(180_000),
    teardownTimeout: timeLimit(10_000),
    expect: { poll: { timeout: timeLimit(60_000) } },
    reporters: ['default', new PlainLineReporter()],
  },
}
