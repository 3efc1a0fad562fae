import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { countEachTest } from '../support/attempt-count.ts'
import type { GitFixture } from '../support/git-fixture.ts'
import { createGitFixture } from '../support/git-fixture.ts'
import { requireSandbox } from '../support/require-program.ts'
import { agent, createTestTroupe, functionModel } from '../support/test-troupe.ts'

beforeEach(countEachTest('files'))

/* Commands in a worktree read the packages of the checkout. A repository that has a link in their place must not choose what they read. */

const SECRET = 'a private key'
let fixture: GitFixture
let outside: string
beforeEach(() => {
  fixture = createGitFixture()
  outside = join(fixture.folder, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'key'), SECRET)
  vi.stubEnv('XDG_STATE_HOME', fixture.worktrees)
  vi.stubEnv('HOME', join(fixture.folder, 'home'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  fixture.remove()
})

/** The results of two commands, and what is done between them. */
async function runCommands(command: string, between = () => {}): Promise<string[]> {
  const results: string[] = []
  const model = functionModel(({ session, messages }) => {
    if (session.turn > 1) results.push(JSON.stringify(messages.at(-1)))
    if (session.turn === 2) between()
    return session.turn < 3 ? { calls: [{ name: 'Bash', input: { command } }] } : { text: 'done' }
  })
  const { troupe, task } = await createTestTroupe({
    agents: [agent('coder', { isolation: 'worktree', tools: ['Bash'] })],
    model,
    workspace: { workspace: fixture.top },
    permissions: {},
  })
  expect((await task('coder', 'go')).status).toBe('completed')
  await troupe.close()
  return results
}

const packages = () => join(fixture.top, 'node_modules')
const readKey = () => `cat node_modules/key ../../node_modules/key '${outside}/key'; echo ended`

test('GT32 a committed link in place of the packages shows commands in worktrees nothing', async () => {
  requireSandbox()
  symlinkSync(outside, packages())
  fixture.commitAll('first')
  const results = await runCommands(readKey())
  expect(results).toHaveLength(2)
  for (const result of results) expect(result).toContain('ended')
  expect(results.join()).not.toContain(SECRET)
})

test('GT32 a link that replaces the packages during a session shows commands in worktrees nothing', async () => {
  requireSandbox()
  mkdirSync(packages())
  writeFileSync(join(packages(), 'key'), 'a package')
  fixture.write('.gitignore', 'node_modules\n')
  fixture.commitAll('first')
  const [before, after] = await runCommands(readKey(), () => {
    rmSync(packages(), { recursive: true })
    symlinkSync(outside, packages())
  })
  expect(before).toContain('a package')
  expect(after).toContain('ended')
  expect(after).not.toContain(SECRET)
})
