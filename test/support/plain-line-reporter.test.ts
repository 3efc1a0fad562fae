import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const resolvePath = (path: string) => fileURLToPath(new URL(path, import.meta.url))

function lastLineOfRun(...files: string[]): { last: string | undefined; status: number | null } {
  const vitest = resolvePath('../../node_modules/vitest/vitest.mjs')
  const config = resolvePath('../fixtures/plain-line/vitest.config.ts')
  const env = { ...process.env, CI: 'true', NO_COLOR: '1' }
  const run = spawnSync(process.execPath, [vitest, 'run', '--config', config, ...files], { encoding: 'utf8', env })
  return { last: run.stdout.trimEnd().split('\n').at(-1), status: run.status }
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

test('a run without test files fails', () => {
  const { last, status } = lastLineOfRun('no-such-file')
  expect(status).toBe(1)
  expect(last).not.toMatch(/, 0 failed/)
})
