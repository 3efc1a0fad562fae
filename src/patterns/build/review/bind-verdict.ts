import type { RequiredChange, ReviewerInput, ReviewerOutput, ReviewFinding } from '../contracts.ts'
import type { CheckResult } from '../verification/check.ts'
import { describeCheck } from '../verification/check.ts'
import type { ClaimedReview } from './parse-review.ts'

/*
 * Binds a review to what really ran. The reviewer can ask for changes where every check passed; it cannot approve where a required check
 * failed, nor claim a result that no run has shown.
 */

export interface ReviewFacts {
  criteria: ReviewerInput['criteria']
  baseline: readonly CheckResult[]
  checks: readonly CheckResult[]
  weakened_tests: readonly string[]
  /** The plan says that the request itself removes tests. */
  removes_tests: boolean
  task_id: string
}

export interface BoundReview {
  output: ReviewerOutput
  overruled: string[]
}

export function bindVerdict(claimed: ClaimedReview, facts: ReviewFacts): BoundReview {
  const { checks } = facts
  const verification = {
    tests_passed: hasPassed(checks, 'test'),
    type_check_passed: hasPassed(checks, 'type_check'),
    custom_checks: Object.fromEntries(
      checks
        .filter(({ kind }) => kind === 'custom' || kind === 'lint')
        .map(({ name, status }) => [name, status === 'passed']),
    ),
  }
  const blocking = blockingFindings(facts)
  const findings = [...claimed.findings, ...blocking]
  const given = claimed.verdict ?? 'changes_requested'
  const criticalFinding = claimed.findings.find(({ severity }) => severity === 'critical')
  const verdict = given === 'approved' && (blocking.length > 0 || criticalFinding) ? 'changes_requested' : given
  const overruled = [
    ...falseClaim('tests_passed', claimed.tests_passed, verification.tests_passed),
    ...falseClaim('type_check_passed', claimed.type_check_passed, verification.type_check_passed),
    ...(given !== 'approved' ? [] : blocking.map(({ description }) => `approved although ${description}`)),
    ...(given === 'approved' && criticalFinding
      ? [`approved with the critical finding ${criticalFinding.finding_id}`]
      : []),
    ...(claimed.verdict === undefined
      ? [
          claimed.failed
            ? 'gave no verdict: it failed twice'
            : 'gave no verdict that can be read; it counts as changes_requested',
        ]
      : []),
  ]
  const hasNothingToChange = verdict === 'approved' || (claimed.failed === true && findings.length === 0)
  const required_changes = hasNothingToChange ? [] : requiredChanges(findings, claimed.summary)
  const summary = claimed.summary === '' ? defaultSummary(verdict) : claimed.summary
  return { output: { task_id: facts.task_id, verdict, findings, verification, required_changes, summary }, overruled }
}

/** True only if a check of this kind ran and all of them passed. */
function hasPassed(checks: readonly CheckResult[], kind: CheckResult['kind']): boolean {
  const ran = checks.filter((check) => check.kind === kind)
  return ran.length > 0 && ran.every(({ status }) => status === 'passed')
}

function falseClaim(name: string, claimed: boolean | null, actual: boolean): string[] {
  return claimed === true && !actual ? [`claimed ${name}, which no run has shown`] : []
}

function blockingFindings({
  criteria,
  baseline,
  checks,
  weakened_tests,
  removes_tests,
  task_id,
}: ReviewFacts): ReviewFinding[] {
  const failing = checks.filter((check) => check.required && isBlocking(check, criteria, baseline))
  const weakened = removes_tests ? [] : weakened_tests
  return [
    ...failing.map((check) => ({
      finding_id: `${task_id}-${check.name}`,
      severity: 'critical' as const,
      category: 'bug' as const,
      file: '',
      description: `the check ${describeCheck(check)}`,
      ...(check.output === '' ? undefined : { suggestion: `the end of its output:\n${check.output.slice(-2000)}` }),
    })),
    ...weakened.map((description, index) => ({
      finding_id: `${task_id}-tests-${index + 1}`,
      severity: 'critical' as const,
      category: 'logic' as const,
      file: fileIn(description),
      description: `the tests are weaker than before: ${description}`,
      suggestion: 'restore the tests, and make them pass by correcting the code',
    })),
  ]
}

/** Whether a check that did not pass stops the build: it passed before, it has to pass, or it got worse. */
function isBlocking(
  { name, kind, status, tests }: CheckResult,
  { must_pass_tests, must_pass_type_check }: ReviewerInput['criteria'],
  baseline: readonly CheckResult[],
): boolean {
  if (status === 'passed' || status === 'skipped') return false
  const before = baseline.find((check) => check.name === name)
  const mustPass =
    kind === 'test' ? must_pass_tests : kind === 'type_check' ? must_pass_type_check : before?.status === 'passed'
  if (mustPass || !before || before.status === 'passed') return true
  if (status === 'timeout' && before.status !== 'timeout') return true
  // Tests that failed before may fail; more of them may not.
  return tests !== undefined && before.tests !== undefined && tests.failed > before.tests.failed
}

function fileIn(description: string): string {
  return /[\w./-]+\.\w+/.exec(description)?.[0] ?? ''
}

const PRIORITY = {
  critical: 'must_fix',
  major: 'must_fix',
  minor: 'should_fix',
  suggestion: 'consider',
} as const satisfies Record<ReviewFinding['severity'], RequiredChange['priority']>

function requiredChanges(findings: readonly ReviewFinding[], summary: string): RequiredChange[] {
  if (findings.length === 0) return [{ priority: 'must_fix', description: summary || 'the reviewer gave no reason' }]
  return findings.map(({ finding_id, severity, file, line, description, suggestion }) => ({
    priority: PRIORITY[severity],
    description: suggestion === undefined ? description : `${description}\n${suggestion}`,
    ...(file === '' ? undefined : { file }),
    ...(line === undefined ? undefined : { line }),
    finding_id,
  }))
}

function defaultSummary(verdict: ReviewerOutput['verdict']): string {
  return verdict === 'approved' ? 'approved without a comment' : 'see the findings'
}
