import * as z from '../../../schema/zod.ts'

export const checkKinds = ['test', 'type_check', 'lint', 'custom'] as const

/** A command that verifies the merged work. */
export const checkCommand = z.strictObject({
  name: z.string(),
  kind: z.enum(checkKinds),
  command: z.string(),
  /** Work whose required checks fail is not approved; the others are skipped when the time is used up. */
  required: z.boolean(),
  /** The file that it was found in, or `config`. */
  source: z.string(),
})
export type CheckCommand = z.output<typeof checkCommand>

/** Numbers of tests, as far as the output tells them. */
export const testCounts = z.strictObject({
  total: z.int(),
  passed: z.int(),
  failed: z.int(),
  skipped: z.int(),
})
export type TestCounts = z.output<typeof testCounts>

export const checkResult = z.strictObject({
  name: z.string(),
  kind: z.enum(checkKinds),
  command: z.string(),
  required: z.boolean(),
  status: z.enum(['passed', 'failed', 'timeout', 'not_run', 'skipped']),
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  /** The end of the output. */
  output: z.string(),
  /** Why it did not pass, or was not run. */
  reason: z.string().optional(),
  tests: testCounts.optional(),
})
export type CheckResult = z.output<typeof checkResult>

/** Characters of the output of a failed check that agents see. */
const SHOWN_OUTPUT_CHARS = 3000

/** The ends of the outputs of checks that did not pass, one JSON object a line: they say what to correct. */
export function describeFailures(checks: readonly CheckResult[]): string[] {
  return checks
    .filter(({ status, output }) => status !== 'passed' && output !== '')
    .map(({ name, output }) => JSON.stringify({ check: name, end_of_output: output.slice(-SHOWN_OUTPUT_CHARS) }))
}

/** One line about a check, with the numbers that are known. */
export function describeCheck({ name, command, status, exit_code, reason, tests }: CheckResult): string {
  const code = status === 'failed' && exit_code !== null ? ` (exit code ${exit_code})` : ''
  const counts = tests
    ? `; ${tests.total} ${tests.total === 1 ? 'test' : 'tests'}, ${tests.failed} failed, ${tests.skipped} skipped`
    : ''
  return `${name} (${command}): ${status}${code}${counts}${reason === undefined ? '' : `; ${reason}`}`
}

/** One line about each check of the work. One that had failed before is no fault of the work. */
export function describeChecks(checks: readonly CheckResult[], baseline: readonly CheckResult[]): string[] {
  return checks.map((check) => {
    const before = baseline.find(({ name }) => name === check.name)
    const isOld = check.status !== 'passed' && (before?.status === 'failed' || before?.status === 'timeout')
    return `${describeCheck(check)}${isOld ? '; it did not pass before the work either' : ''}`
  })
}
