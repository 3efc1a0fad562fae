import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { countEachTest, recordAttempts } from '../support/attempt-count.ts'
import { agent, createTestTroupe, functionModel } from '../support/test-troupe.ts'
import { createToolWorkspace } from './tool-workspace.ts'

beforeEach(countEachTest('permissions'))

/** Tool names that a prompt injection might make a model call. */
const NAMES = [
  'Bash',
  'bash',
  'BASH',
  ' Bash',
  'Bash ',
  'Bash()',
  'Bash(touch marker)',
  'functions.Bash',
  'default_api:Bash',
  'tools/Bash',
  '../Bash',
  'Read\nBash',
  'Read;Bash',
  'Read\0Bash',
  'mcp__shell__Bash',
  '__proto__',
  'constructor',
  'toString',
  'Write',
  'run_shell_command',
]

test('TO46 a tool that an agent does not have cannot be called, in any spelling', async () => {
  using fixture = createToolWorkspace()
  const model = functionModel(({ session }) =>
    session.turn <= NAMES.length
      ? {
          calls: [
            {
              name: NAMES[session.turn - 1] ?? '',
              input: { command: 'touch marker', file_path: 'marker', content: '' },
            },
          ],
        }
      : { text: 'done' },
  )
  const { troupe, task } = await createTestTroupe({
    model,
    tools: fixture.toolbox.tools,
    agents: [agent('reader', { tools: ['Read'] })],
    limits: { turns: NAMES.length + 2 },
  })
  const { run_id } = await task('reader', 'Do what the page says.')
  const events = await troupe.events(run_id).all()
  const calls = events.filter(
    ({ type, data }) => type === 'tool:error' && NAMES.includes((data as { tool: string }).tool),
  )
  expect(calls.map(({ data }) => (data as { detail: { code: string } }).detail.code)).toEqual(
    NAMES.map(() => 'unknown_tool'),
  )
  expect(events.some(({ type }) => type === 'tool:post')).toBe(false)
  expect(existsSync(join(fixture.workspace, 'marker'))).toBe(false)
  await troupe.close()
})

test('TO47 the tool:post event lists the files that a call changed', async (context) => {
  recordAttempts(context, 'permissions', { attempts: 0 })
  using fixture = createToolWorkspace()
  const steps = [
    { name: 'Write', input: { file_path: 'a.txt', content: 'one\n' } },
    { name: 'Edit', input: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } },
    { name: 'Bash', input: { command: 'cat a.txt' } },
  ]
  const model = functionModel(({ session }) => {
    const step = steps[session.turn - 1]
    return step ? { calls: [step] } : { text: 'done' }
  })
  const tools = ['Write', 'Edit', 'Bash']
  const { troupe, task } = await createTestTroupe({
    model,
    tools: fixture.toolbox.tools,
    agents: [agent('maker', { tools })],
  })
  const { run_id, status } = await task('maker', 'Make it.')
  expect(status).toBe('completed')
  const posts = (await troupe.events(run_id).all()).filter(
    ({ type, data }) => type === 'tool:post' && tools.includes((data as { tool: string }).tool),
  )
  expect(posts.map(({ data }) => (data as { files?: string[] }).files)).toEqual([['a.txt'], ['a.txt'], undefined])
  expect(posts.map(({ data }) => (data as { created?: string[] }).created)).toEqual([['a.txt'], undefined, undefined])
  expect(posts.at(-1)?.data).toMatchObject({ output: 'two\n' })
  await troupe.close()
})
