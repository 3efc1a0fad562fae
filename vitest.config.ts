import { defineConfig } from 'vitest/config'
import { LONG_TESTS, sharedOptions } from './test/vitest-options.ts'

/** These change the working folder or the handlers of the process. */
const ISOLATED = [
  'src/engine/replay-patterns.test.ts',
  'src/performers/hooks.test.ts',
  'src/runtime/options.test.ts',
  'src/surfaces/cli/commands/{agents,export,knowledge,team}-command.test.ts',
]

/** `npm test`: the unit and contract suites, and one test of each kind that starts a process. `test/long/vitest.config.ts` has the others. */
export default defineConfig({
  ...sharedOptions,
  test: {
    ...sharedOptions.test,
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
          exclude: [...LONG_TESTS, ...ISOLATED],
          setupFiles: ['test/support/restored-process.ts'],
          // A worker loads a module once for all its files. A file must therefore restore what it changes in the process.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
    ],
  },
})
