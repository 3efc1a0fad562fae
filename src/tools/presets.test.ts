import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'

/** What an agent that came along answers to these calls, made one a turn on a real workspace; then the files there. */
async function tries(
  agent: string,
  calls: { name: string; input: object }[],
  files: Record<string, string> = {},
): Promise<string[]> {
  const workspace = mkdtempSync(join(tmpdir(), 'troupe-presets-'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(workspace, name), content)
  const model = functionModel((request) => {
    const call = calls[request.session.turn - 1]
    return call ? { calls: [call] } : { text: 'end' }
  })
  const { troupe, task } = await createTestTroupe({ model, workspace: { workspace } })
  const result = await task(agent, 'go')
  const answers = (await troupe.events(result.run_id)).flatMap((event) => {
    if (event.type === 'tool:error') return event.data.detail.code
    return event.type === 'tool:post' ? 'ok' : []
  })
  await troupe.close()
  const left = Object.keys(files).length === 0 ? [] : readdirSync(workspace).filter((name) => !name.startsWith('.'))
  rmSync(workspace, { recursive: true, force: true })
  return [...answers, ...left]
}

test('PM15 the architect cannot write or run commands, and plans', async () => {
  const write = { name: 'Write', input: { file_path: 'a.txt', content: 'x' } }
  const run = { name: 'Bash', input: { command: 'true' } }
  const list = { name: 'TaskList', input: {} }
  expect(await tries('architect', [write, run, list])).toEqual(['unknown_tool', 'unknown_tool', 'ok'])
})

test('PM16 the reviewer runs tests and type checks, and nothing else', async () => {
  const run = (command: string) => ({ name: 'Bash', input: { command } })
  const made = [run('node --test'), run('rm -rf .'), run('node --test; touch x'), { name: 'Edit', input: {} }]
  expect(await tries('reviewer', made)).toEqual([
    expect.stringMatching(/ok|tool_failed/),
    'denied',
    'denied',
    'unknown_tool',
  ])
})

test('PM36 the reviewer’s commands read the workspace and write nothing, whatever its tests do', async () => {
  const code = 'data:text/javascript,1'
  const script = `node -e "try { require('fs').writeFileSync('made.txt', 'x') } catch {}"`
  const run = (command: string) => ({ name: 'Bash', input: { command } })
  const files = { 'package.json': JSON.stringify({ scripts: { test: script } }) }
  const made = [run('npm test'), run(`node --test --import ${code}`)]
  expect(await tries('reviewer', made, files)).toEqual(['ok', 'denied', 'package.json'])
})
