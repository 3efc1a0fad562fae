import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'

export type RunOutcome = {
  modules: ReadonlyArray<TestModule>
  unhandledErrors: number
  reason: TestRunEndReason
}

export type Tally = { passed: number; failed: number; skipped: number }

// A file that fails to load and a throwing hook have no failed test case: each counts as one failure, or a broken run
// would report "0 failed".
export function tally({ modules, unhandledErrors, reason }: RunOutcome): Tally {
  const count: Tally = { passed: 0, failed: unhandledErrors, skipped: 0 }
  for (const module of modules) {
    const suites = [...module.children.allSuites()]
    count.failed += [module, ...suites].filter((suite) => suite.errors().length > 0).length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'pending') count.failed += 1
      else count[state] += 1
    }
  }
  if (reason !== 'passed' && count.failed === 0) count.failed = 1
  return count
}

export function plainLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

export class PlainLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>, reason: TestRunEndReason): void {
    process.stdout.write(`${plainLine(tally({ modules, unhandledErrors: errors.length, reason }))}\n`)
  }
}
