import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node'
import { attemptLines } from './attempt-count.ts'
import { environmentProblems } from './system-programs.ts'

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

/** One line for each test that was skipped for a reason; tests with `.skip` and `.todo` have none. */
export function skippedLines(modules: ReadonlyArray<TestModule>): string[] {
  return modules.flatMap((module) =>
    [...module.children.allTests('skipped')].flatMap((test) => {
      const result = test.result()
      const reason = result.state === 'skipped' ? result.note : undefined
      return reason === undefined ? [] : [`skipped: ${module.relativeModuleId} > ${test.fullName} (${reason})`]
    }),
  )
}

const SLOWEST = 10

/** The files that took longest, so that a test that became slow is seen. */
export function slowestLines(modules: ReadonlyArray<TestModule>): string[] {
  const times = modules.map((module) => {
    const { collectDuration, duration } = module.diagnostic()
    return { file: module.relativeModuleId, seconds: (collectDuration + duration) / 1000 }
  })
  const slowest = times.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  return ['the slowest files:', ...slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`)]
}

/** Says at the beginning and at the end what the machine lacks, how many attempts to escape were made, which tests were skipped and which files took longest; the last line is the tally. */
export class PlainLineReporter implements Reporter {
  #problems: readonly string[] = []

  onTestRunStart(): void {
    this.#problems = environmentProblems()
    this.#printProblems()
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>, reason: TestRunEndReason): void {
    for (const line of [...attemptLines(modules), ...skippedLines(modules), ...slowestLines(modules)])
      process.stdout.write(`${line}\n`)
    this.#printProblems()
    process.stdout.write(`${plainLine(tally({ modules, unhandledErrors: errors.length, reason }))}\n`)
  }

  #printProblems(): void {
    for (const problem of this.#problems)
      process.stdout.write(`${problem}: tests that need it are skipped. To install: bash .ci/packages\n`)
  }
}
