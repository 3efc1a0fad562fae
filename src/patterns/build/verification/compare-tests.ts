import type { ChangedFile } from '../../../tools/git/repository.ts'
import type { CheckResult } from './check.ts'

/*
 * Finds tests that were deleted or weakened, by comparing with the run before the work began. Detected: fewer tests or more skipped ones in
 * the summary of the runner, deleted test files, assertions removed and not replaced, and marks that skip tests or run only some of them.
 * Not detected: an assertion whose expected value was changed, a test whose body does less, or a runner whose summary is not known.
 */

const TEST_FILE =
  /(?:^|\/)(?:tests?|__tests__|spec)\/|[._-](?:test|spec)\.[\w]+$|(?:^|\/)test_[^/]+\.py$|_test\.(?:go|py|rb)$/i
const ASSERTION = /\b(?:assert\w*|expect|should|require)\s*[.(!]|\bassert\b|\bt\.(?:Error|Fatal)\w*\(/
const DISABLED =
  /\b(?:test|it|describe|suite)\.(?:skip|todo|only)\b|\b(?:xit|xdescribe|xtest|fit|fdescribe)\s*\(|\bskip\s*:\s*(?:true|['"])|@(?:pytest\.mark\.skip|unittest\.skip|Ignore|Disabled)|#\[ignore|\bt\.Skip/

/** Files that belong to the tests; other files there, such as fixtures, count too. */
export function isTestFile(path: string): boolean {
  return TEST_FILE.test(path)
}

export interface TestComparison {
  baseline: readonly CheckResult[]
  current: readonly CheckResult[]
  /** The changes of the whole build. */
  files: readonly ChangedFile[]
  /** Their unified diff. */
  diff: string
}

/** What makes the tests weaker than before, one sentence each; nothing if they are not. */
export function findWeakenedTests({ baseline, current, files, diff }: TestComparison): string[] {
  const deleted = files.filter(({ change, path }) => change === 'deleted' && isTestFile(path)).map(({ path }) => path)
  return [
    ...(deleted.length > 0 ? [`deleted test files: ${deleted.join(', ')}`] : []),
    ...fewerTests(baseline, current),
    ...changedLines(diff),
  ]
}

function fewerTests(baseline: readonly CheckResult[], current: readonly CheckResult[]): string[] {
  return current.flatMap(({ name, kind, tests }) => {
    const before = baseline.find((check) => check.name === name)?.tests
    if (kind !== 'test' || !tests || !before) return []
    return [
      ...(tests.total < before.total ? [`${name} ran ${tests.total} tests, ${before.total} before`] : []),
      ...(tests.skipped > before.skipped ? [`${name} skipped ${tests.skipped} tests, ${before.skipped} before`] : []),
    ]
  })
}

/** Assertions that a test file lost, and marks that switch tests off. A deleted file is reported as such. */
function changedLines(diff: string): string[] {
  return fileDiffs(diff).flatMap(({ path, added, removed, deleted }) => {
    if (deleted || !isTestFile(path)) return []
    const lost = count(removed, ASSERTION) - count(added, ASSERTION)
    const disabled = count(added, DISABLED) - count(removed, DISABLED)
    return [
      ...(lost > 0 ? [`${path} lost ${lost} ${lost === 1 ? 'assertion' : 'assertions'}`] : []),
      ...(disabled > 0
        ? [`${path} switches off ${disabled} ${disabled === 1 ? 'test' : 'tests'} (skip, todo or only)`]
        : []),
    ]
  })
}

function count(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((line) => pattern.test(line)).length
}

interface FileDiff {
  path: string
  added: string[]
  removed: string[]
  deleted: boolean
}

/** The changed lines of a unified diff, by file. */
function fileDiffs(diff: string): FileDiff[] {
  const files: FileDiff[] = []
  let inHunk = false
  for (const line of diff.split('\n')) {
    const [, path] = /^diff --git a\/.* b\/(.*)$/.exec(line) ?? []
    if (path !== undefined) {
      files.push({ path, added: [], removed: [], deleted: false })
      inHunk = false
      continue
    }
    const file = files.at(-1)
    if (!file) continue
    if (line.startsWith('@@')) inHunk = true
    else if (!inHunk && line.startsWith('deleted file')) file.deleted = true
    else if (inHunk && line.startsWith('+')) file.added.push(line.slice(1))
    else if (inHunk && line.startsWith('-')) file.removed.push(line.slice(1))
  }
  return files
}

/** Scripts of `package.json` that verify the project: a change of them changes what a passing check means. */
const CHECK_SCRIPTS = /^(?:pre|post)?(?:test|types?|type-?check|check-types|tsc|lint)(?::|$)/

/** The check scripts that were changed or removed. */
export function changedCheckCommands(before: string | undefined, after: string | undefined): string[] {
  const [old, current] = [scriptsIn(before), scriptsIn(after)]
  const changed = Object.keys(old).filter((name) => CHECK_SCRIPTS.test(name) && old[name] !== current[name])
  return changed.map(
    (name) =>
      `package.json: the script ${name} is now ${JSON.stringify(current[name] ?? null)}, before ${JSON.stringify(old[name])}`,
  )
}

function scriptsIn(text: string | undefined): Record<string, unknown> {
  try {
    return (JSON.parse(text ?? '{}') as { scripts?: Record<string, unknown> }).scripts ?? {}
  } catch {
    return {}
  }
}
