import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireSandbox } from '../../test/support/require-program.ts'
import { createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'

/** Lets a built-in agent make these calls, one per turn; returns their error codes and the files of the workspace. */
async function runCalls(
  agent: string,
  calls: { name: string; input: object }[],
  files: Record<string, string> = {},
): Promise<string[]> {
  requireSandbox()
  const workspace = mkdtempSync(join(tmpdir(), 'troupe-presets-'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(workspace, name), content)
  const model = functionModel((request) => {
    const call = calls[request.session.turn - 1]
    return call ? { calls: [call] } : { text: 'end' }
  })
  const { troupe, task } = await createTestTroupe({ model, workspace: { workspace } })
  const result = await task(agent, 'go')
  const outcomes = (await troupe.events(result.run_id).all()).flatMap((event) => {
    if (event.type === 'tool:error') return event.data.detail.code
    return event.type === 'tool:post' ? 'ok' : []
  })
  await troupe.close()
  const remaining =
    Object.keys(files).length === 0 ? [] : readdirSync(workspace).filter((name) => !name.startsWith('.'))
  rmSync(workspace, { recursive: true, force: true })
  return [...outcomes, ...remaining]
}

test('A27 the architect can plan, but not write files or run commands', async () => {
  const write = { name: 'Write', input: { file_path: 'a.txt', content: 'x' } }
  const run = { name: 'Bash', input: { command: 'true' } }
  const list = { name: 'TaskList', input: {} }
  expect(await runCalls('architect', [write, run, list])).toEqual(['unknown_tool', 'unknown_tool', 'ok'])
})

test('A27 the reviewer can run tests and type checks, and no other commands', async () => {
  const run = (command: string) => ({ name: 'Bash', input: { command } })
  const calls = [run('node --test'), run('rm -rf .'), run('node --test; touch x'), { name: 'Edit', input: {} }]
  expect(await runCalls('reviewer', calls)).toEqual([
    expect.stringMatching(/ok|tool_failed/),
    'denied',
    'denied',
    'unknown_tool',
  ])
})

test('SB19 commands of the reviewer can read the workspace and write nothing', async () => {
  const code = 'data:text/javascript,1'
  const script = `node -e "try { require('fs').writeFileSync('made.txt', 'x') } catch {}"`
  const run = (command: string) => ({ name: 'Bash', input: { command } })
  const files = { 'package.json': JSON.stringify({ scripts: { test: script } }) }
  const calls = [run('npm test'), run(`node --test --import ${code}`)]
  expect(await runCalls('reviewer', calls, files)).toEqual(['ok', 'denied', 'package.json'])
})
