import type { TestCounts } from './check.ts'

/*
 * Numbers of tests in the output of a test runner. Only what a runner prints as its summary counts; an output that is not known has no
 * numbers, and then only exit code and files are compared. A hostile test can print a summary of its own: the last one counts, and a failing
 * exit code stays a failure.
 */

/** The output without colours. */
function plainText(output: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is removed
  return output.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '')
}

export function parseTestCounts(output: string): TestCounts | undefined {
  const text = plainText(output)
  return nodeCounts(text) ?? jestCounts(text) ?? pytestCounts(text) ?? cargoCounts(text) ?? goCounts(text)
}

/** `node --test`: `# tests 5` in TAP, `ℹ tests 5` otherwise. */
function nodeCounts(text: string): TestCounts | undefined {
  const value = (name: string) => lastNumber(text, new RegExp(`^(?:#|ℹ) ${name} (\\d+)$`, 'gm'))
  const total = value('tests')
  if (total === undefined) return undefined
  const skipped = (value('skipped') ?? 0) + (value('todo') ?? 0)
  return { total, passed: value('pass') ?? 0, failed: (value('fail') ?? 0) + (value('cancelled') ?? 0), skipped }
}

/** Jest and Vitest: `Tests:  1 failed, 2 skipped, 5 passed, 8 total`, `Tests  1 failed | 5 passed (6)`. */
function jestCounts(text: string): TestCounts | undefined {
  const line = [...text.matchAll(/^\s*Tests:?\s{1,10}(.*)$/gm)].at(-1)?.[1]
  return line === undefined ? undefined : countsFrom(line)
}

/** pytest: `=== 1 failed, 3 passed, 1 skipped in 0.05s ===`. */
function pytestCounts(text: string): TestCounts | undefined {
  const line = [
    ...text.matchAll(
      /^=*\s*((?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?),? ?)+)in [\d.]+s/gm,
    ),
  ]
  const last = line.at(-1)?.[1]
  return last === undefined ? undefined : countsFrom(last)
}

/** cargo prints one line for each binary: `test result: ok. 3 passed; 0 failed; 1 ignored; …`. */
function cargoCounts(text: string): TestCounts | undefined {
  const lines = [...text.matchAll(/^test result: .*$/gm)].map(([line]) => countsFrom(line))
  return lines.length === 0 ? undefined : lines.reduce(addCounts)
}

/** `go test` prints a line for each package; with `-v` one for each test. */
function goCounts(text: string): TestCounts | undefined {
  const results = [...text.matchAll(/^\s*--- (PASS|FAIL|SKIP): /gm)].map(([, result]) => result)
  if (results.length === 0) return undefined
  const count = (word: string) => results.filter((result) => result === word).length
  return { total: results.length, passed: count('PASS'), failed: count('FAIL'), skipped: count('SKIP') }
}

function countsFrom(line: string): TestCounts {
  const value = (words: string) => Number(new RegExp(`(\\d+) (?:${words})`).exec(line)?.[1] ?? 0)
  const counts = {
    passed: value('passed'),
    failed: value('failed') + value('errors?'),
    skipped: value('skipped') + value('ignored') + value('todo') + value('xfailed') + value('deselected'),
  }
  return { total: counts.passed + counts.failed + counts.skipped, ...counts }
}

function addCounts(a: TestCounts, b: TestCounts): TestCounts {
  return {
    total: a.total + b.total,
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  }
}

function lastNumber(text: string, pattern: RegExp): number | undefined {
  const found = [...text.matchAll(pattern)].at(-1)?.[1]
  return found === undefined ? undefined : Number(found)
}
