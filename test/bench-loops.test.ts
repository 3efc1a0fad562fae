import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('the measurement of loop detection runs on the labelled traces of the repository', () => {
  const output = execFileSync(process.execPath, ['bench/loops.ts', 'test/fixtures/loops'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(output).toMatch(/^3 runs, 17 decisions, 3 labelled/)
  for (const row of ['fifth decision and later', 'handoffs without a new result, as in teams'])
    expect(output).toMatch(new RegExp(`^${row} +\\d\\.\\d{3} +\\d\\.\\d{3} +\\d\\.\\d{3} `, 'm'))
  expect(output).toMatch(/^fifth decision and later +0\.600 +1\.000 /m)
})
