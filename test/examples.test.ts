import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { needsNewerNode } from './docs/block-rules.ts'
import { timeLimit } from './support/time-limit.ts'

// Team files are tested in test/e2e/team-examples.test.ts.
const examples = readdirSync('examples').filter((name) => /^\d/.test(name))

test('there are examples', () => {
  expect(examples.length).toBeGreaterThan(0)
})

test.each(examples)('P33 the oldest supported Node can read the example %s', (name) => {
  expect(needsNewerNode(readFileSync(`examples/${name}/main.ts`, 'utf8'))).toEqual([])
})

test.each(examples)('the example %s runs offline and its assertions hold', async (name) => {
  const offline = new URL('docs/offline-troupe.ts', import.meta.url).href
  const run = promisify(execFile)(process.execPath, ['--import', offline, `examples/${name}/main.ts`], {
    timeout: timeLimit(60_000),
  })
  await expect(run).resolves.toMatchObject({ stdout: expect.stringMatching(/\S/) })
})
