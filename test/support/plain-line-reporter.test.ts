import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const resolvePath = (path: string) => fileURLToPath(new URL(path, import.meta.url))

function runFixtures(files: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const vitest = resolvePath('../../node_modules/vitest/vitest.mjs')
  const config = resolvePath('../fixtures/plain-line/vitest.config.ts')
  const env = { ...process.env, CI: 'true', NO_COLOR: '1', ...variables }
  const run = spawnSync(process.execPath, [vitest, 'run', '--config', config, ...files], { encoding: 'utf8', env })
  const lines = run.stdout.trimEnd().split('\n')
  return { lines, last: lines.at(-1), status: run.status }
}

function lastLineOfRun(...files: string[]): { last: string | undefined; status: number | null } {
  const { last, status } = runFixtures(files)
  return { last, status }
}

test('a successful run ends with the summary line', () => {
  expect(lastLineOfRun('green')).toEqual({ last: '2 passed, 0 failed', status: 0 })
})

test('a file that fails to load counts as a failure', () => {
  expect(lastLineOfRun('green', 'unloadable')).toEqual({ last: '2 passed, 1 failed', status: 1 })
})

test('failed tests, throwing hooks and skipped tests are counted', () => {
  expect(lastLineOfRun('mixed')).toEqual({ last: '1 passed, 2 failed, 2 skipped', status: 1 })
})

test('the files that took longest are named, the slowest first', () => {
  const { lines } = runFixtures(['green', 'mixed'])
  const slowest = lines
    .slice(lines.indexOf('the slowest files:') + 1, -1)
    .map((line) => /^ *([\d.]+) s {2}(.+)$/.exec(line))
  expect(slowest.map((found) => found?.[2]).sort()).toEqual(['green.case.ts', 'mixed.case.ts'])
  const seconds = slowest.map((found) => Number(found?.[1]))
  expect(seconds).toEqual(seconds.toSorted((a, b) => b - a))
})

test('a run without test files fails', () => {
  const { last, status } = lastLineOfRun('no-such-file')
  expect(status).toBe(1)
  expect(last).not.toMatch(/, 0 failed/)
})

describe('without the programs that tests need', () => {
  const withoutPrograms = { PATH: '/nowhere', REQUIRE_PROGRAMS: '0' }

  test('tests that need them are skipped and named, and what is missing is said at the beginning and at the end', () => {
    const { lines, last, status } = runFixtures(['needs-program'], withoutPrograms)
    expect({ last, status }).toEqual({ last: '1 passed, 0 failed, 2 skipped', status: 0 })
    const missing = lines.filter((line) => line.startsWith('missing programs: bwrap, socat, rg, git, tmux'))
    expect(missing).toHaveLength(2)
    expect(lines.indexOf(missing[0] ?? '')).toBeLessThan(lines.findIndex((line) => line.includes('✓')))
    expect(lines.at(-2)).toBe(missing[1])
    expect(missing[1]).toContain('apt-get install bubblewrap socat ripgrep git tmux')
    expect(lines.filter((line) => line.startsWith('skipped: '))).toEqual([
      expect.stringMatching(/needs-program\.case\.ts > needs a terminal \(tmux is missing\)$/),
      expect.stringMatching(/needs-program\.case\.ts > needs a sandbox \(bwrap is missing .+\)$/),
    ])
  })

  test('with REQUIRE_PROGRAMS=1, as in .ci/run, they fail', () => {
    const { last, status } = runFixtures(['needs-program'], { ...withoutPrograms, REQUIRE_PROGRAMS: '1' })
    expect({ last, status }).toEqual({ last: '1 passed, 2 failed', status: 1 })
  })
})
