import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { PlainLineReporter } from './test/support/plain-line-reporter.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^troupe$/, replacement: at('./src/index.ts') },
      { find: /^troupe\/testing$/, replacement: at('./src/testing/index.ts') },
    ],
  },
  test: {
    setupFiles: ['test/support/fixed-seed.ts'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: ['test/fixtures/**', 'node_modules/**', 'dist/**'],
    pool: 'forks',
    // One worker per core: the default leaves one core idle, which is half of a small machine.
    maxWorkers: '100%',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 5_000,
    reporters: ['default', new PlainLineReporter()],
  },
})
