import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('CP15 packages of the scenario set have at most a quarter of the tokens of the history, and hold far more planted facts than the last messages', () => {
  const output = execFileSync(process.execPath, ['bench/package.ts', '--words', '--seeds', '1'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  const row = (name: string) =>
    (new RegExp(`^${name}(.*)$`, 'm').exec(output)?.[1] ?? '').match(/[\d.]+(?= %)/g)?.map(Number)
  const [tuning = 0, , heldOut = 0, , largest = 100] = row('package, words only') ?? []
  const [, , heldOutOfLast = 100] = row('last messages, same budget') ?? []
  expect(largest).toBeLessThanOrEqual(25)
  expect(tuning).toBeGreaterThan(70)
  expect(heldOut).toBeGreaterThan(heldOutOfLast + 50)
})
