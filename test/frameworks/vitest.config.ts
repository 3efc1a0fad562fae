import { defineConfig } from 'vitest/config'
import { sharedOptions } from '../vitest-options.ts'

/** The handler in real frameworks: `npm run test:frameworks`. */
export default defineConfig({
  ...sharedOptions,
  test: {
    ...sharedOptions.test,
    include: ['test/frameworks/frameworks.ts'],
    hookTimeout: 600_000,
    testTimeout: 600_000,
  },
})
