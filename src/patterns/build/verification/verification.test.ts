import { describe, expect, test } from 'vitest'
import { bindVerdict } from '../review/bind-verdict.ts'
import { parseReview } from '../review/parse-review.ts'
import type { CheckResult } from './check.ts'
import { changedCheckCommands } from './compare-tests.ts'
import { detectChecks } from './detect-checks.ts'
import { parseTestCounts } from './test-counts.ts'

const commands = (files: Record<string, string>, configured = {}) =>
  detectChecks(files, configured).map(({ kind, command, required }) => [kind, command, required])

describe('detected checks', () => {
  test('BD17 scripts of package.json, with the package manager of the lock file', () => {
    const scripts = { test: 'vitest run', typecheck: 'tsc', lint: 'biome check' }
    expect(commands({ 'package.json': JSON.stringify({ scripts }), 'pnpm-lock.yaml': '' })).toEqual([
      ['test', 'pnpm run test', true],
      ['type_check', 'pnpm run typecheck', true],
      ['lint', 'pnpm run lint', false],
    ])
    const empty = { scripts: { test: 'echo "Error: no test specified" && exit 1' } }
    expect(commands({ 'package.json': JSON.stringify(empty) })).toEqual([])
    expect(commands({ 'package.json': 'not JSON' })).toEqual([])
  })

  test('BD17 pytest, go, cargo and make', () => {
    expect(commands({ 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n' })).toEqual([
      ['test', 'python3 -m pytest -q', true],
      ['lint', 'python3 -m ruff check .', false],
    ])
    expect(commands({ 'go.mod': 'module x' })[0]).toEqual(['test', 'go test ./...', true])
    expect(commands({ 'Cargo.toml': '' })[0]).toEqual(['test', 'cargo test --offline', true])
    expect(commands({ Makefile: 'test:\n\ttrue\nlint :\n\ttrue\n' })).toEqual([
      ['test', 'make test', true],
      ['lint', 'make lint', false],
    ])
  })

  test('BD17 the configuration wins; an empty command switches a check off', () => {
    const files = { 'go.mod': 'module x' }
    const configured = { test: 'make t', lint: '', custom: { audit: { command: 'make audit', required: false } } }
    expect(commands(files, configured)).toEqual([
      ['test', 'make t', true],
      ['type_check', 'go build ./...', true],
      ['custom', 'make audit', false],
    ])
  })
})

test.each([
  ['ℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n', [5, 1, 1]],
  ['# tests 2\n# pass 2\n# fail 0\n', [2, 0, 0]],
  ['Tests:       1 failed, 2 skipped, 5 passed, 8 total\n', [8, 1, 2]],
  ['\u001b[2m      Tests \u001b[22m \u001b[31m1 failed\u001b[39m | \u001b[32m5 passed\u001b[39m (6)\n', [6, 1, 0]],
  ['===== 1 failed, 3 passed, 1 skipped in 0.05s =====\n', [5, 1, 1]],
  ['test result: ok. 3 passed; 0 failed; 1 ignored;\ntest result: FAILED. 0 passed; 2 failed; 0 ignored;\n', [6, 2, 1]],
  ['--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\n', [2, 0, 1]],
  ['hello\n', undefined],
])('BD7 tests are counted in the summary of the runner: %j', (output, expected) => {
  const counts = parseTestCounts(output)
  expect(counts && [counts.total, counts.failed, counts.skipped]).toEqual(expected)
})

test('BD7 a check script that was changed is reported', () => {
  const before = JSON.stringify({ scripts: { test: 'vitest run', build: 'tsc' } })
  const after = JSON.stringify({ scripts: { test: 'true', build: 'tsc -b' } })
  expect(changedCheckCommands(before, after)).toEqual([
    'package.json: the script test is now "true", before "vitest run"',
  ])
})

const check = (status: CheckResult['status'], failed = 0): CheckResult => ({
  ...{ name: 'test', kind: 'test', command: 'npm test', required: true, exit_code: 1, duration_ms: 1, output: '' },
  status,
  tests: { total: 4, passed: 4 - failed, failed, skipped: 0 },
})

describe('a verdict', () => {
  const approved = parseReview({ text: '{"verdict":"approved","summary":"fine","findings":[]}' }, 'R')
  const facts = { weakened_tests: [], removes_tests: false, task_id: 'R' }
  const verdict = (baseline: CheckResult, current: CheckResult, must_pass_tests: boolean) =>
    bindVerdict(approved, {
      ...facts,
      criteria: { must_pass_tests, must_pass_type_check: false },
      baseline: [baseline],
      checks: [current],
    }).output.verdict

  test('BD18 tests that failed before may fail, and no more of them', () => {
    expect(verdict(check('failed', 2), check('failed', 2), false)).toBe('approved')
    expect(verdict(check('failed', 2), check('failed', 3), false)).toBe('changes_requested')
    expect(verdict(check('failed', 2), check('failed', 2), true)).toBe('changes_requested')
    expect(verdict(check('passed'), check('failed', 1), false)).toBe('changes_requested')
    expect(verdict(check('failed', 2), check('timeout', 0), false)).toBe('changes_requested')
  })

  test('BD20 is read from prose and from other words', () => {
    expect(parseReview({ text: 'Looks good to me. LGTM' }, 'R').verdict).toBe('approved')
    expect(parseReview({ text: 'I cannot approve this: it is not ready.' }, 'R').verdict).toBe('changes_requested')
    const text =
      '```json\n{"verdict":"Changes requested","findings":[{"severity":"high","file":"a.ts","line":"7","description":"x"}]}\n```'
    expect(parseReview({ text }, 'R')).toMatchObject({
      verdict: 'changes_requested',
      findings: [{ finding_id: 'R-F1', severity: 'major', category: 'logic', file: 'a.ts', line: 7 }],
    })
  })

  test('BD4 a critical finding and an approval do not go together', () => {
    const text = '{"verdict":"approved","findings":[{"severity":"critical","file":"a.ts","description":"x"}]}'
    const bound = bindVerdict(parseReview({ text }, 'R'), {
      ...facts,
      criteria: { must_pass_tests: false, must_pass_type_check: false },
      baseline: [],
      checks: [],
    })
    expect(bound).toMatchObject({
      output: {
        verdict: 'changes_requested',
        verification: { tests_passed: false },
        required_changes: [{ priority: 'must_fix' }],
      },
      overruled: ['approved with the critical finding R-F1'],
    })
  })
})
