import { defineConfig } from 'vitest/config'
import { LONG_TESTS, sharedOptions } from '../vitest-options.ts'

/** `npm run test:long`: the tests that `npm test` leaves out. */
export default defineConfig({ ...sharedOptions, test: { ...sharedOptions.test, include: LONG_TESTS } })
