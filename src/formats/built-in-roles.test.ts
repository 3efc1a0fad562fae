import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../test/escape/tool-workspace.ts'
import { createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'
import { builtInAgentsFolder } from './built-in-agents.ts'
import { loadAgents } from './find-agents.ts'

const WRITERS = ['Read', 'Write', 'Edit', 'Bash', 'Glob', 'Grep']
const READERS = ['Read', 'Glob', 'Grep', 'Bash']
const ARCHITECT = [
  ...['Read', 'Glob', 'Grep', 'LSP', 'EnterPlanMode', 'ExitPlanMode', 'TaskCreate', 'TaskUpdate', 'TaskList', 'task'],
  ...['collaborate', 'consult', 'ask_user'],
]

test('A27 the agents of a build have exactly the tools of their roles, and a description and instructions of their own', async () => {
  const { agents } = await loadAgents(builtInAgentsFolder())
  const roles = Object.fromEntries(agents.map((agent) => [agent.name, agent]))
  expect(roles.architect?.tools).toEqual(ARCHITECT)
  for (const name of ['developer', 'tester', 'documenter', 'optimizer'])
    expect(roles[name], name).toMatchObject({ tools: WRITERS, on_request: true })
  for (const name of ['reviewer', 'security']) expect(roles[name]?.tools, name).toEqual(READERS)
  const instructions = ['architect', 'developer', 'reviewer', 'tester', 'documenter', 'security', 'optimizer'].map(
    (name) => roles[name]?.instructions.split('. ')[0],
  )
  expect(instructions).toEqual([
    'You are a zen architect valuing simplicity',
    'You are a developer',
    'You are a code reviewer',
    'You are a tester',
    'You are a technical writer',
    'You are a security reviewer',
    'You are a performance engineer',
  ])
})

const REFUSALS = ['unknown_tool', 'denied']

/** Calls of a built-in agent in a workspace, one after the other: refused with a code, or `executed`. */
async function attempt(name: string, calls: readonly { name: string; input: object }[]) {
  using fixture = createToolWorkspace()
  fixture.writeFile('a.txt', 'one\n')
  fixture.writeFile('a.test.mjs', "import { test } from 'node:test'\ntest('one', () => {})\n")
  const model = functionModel(({ session }) => {
    const call = calls[session.turn - 1]
    return call ? { calls: [call] } : { text: 'done' }
  })
  const { troupe, task } = await createTestTroupe({ model, tools: fixture.toolbox.tools })
  const { run_id } = await task(name, 'Change it.')
  const outcomes = (await troupe.events(run_id).all()).flatMap((event) => {
    if (event.type === 'tool:post' && event.data.tool !== 'task') return ['executed']
    if (event.type !== 'tool:error') return []
    return [REFUSALS.includes(event.data.detail.code) ? event.data.detail.code : 'executed']
  })
  await troupe.close()
  const text = readFileSync(join(fixture.workspace, 'a.txt'), 'utf8')
  return { outcomes, text, created: existsSync(join(fixture.workspace, 'b.txt')) }
}

const READ = { name: 'Read', input: { file_path: 'a.txt' } }
const WRITE = { name: 'Write', input: { file_path: 'b.txt', content: 'two\n' } }
const EDIT = { name: 'Edit', input: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } }
const SHELL = { name: 'Bash', input: { command: 'echo two > b.txt' } }
const TESTS = { name: 'Bash', input: { command: 'node --test' } }
const CHAIN = { name: 'Bash', input: { command: 'node --test; echo two > b.txt' } }

// The architect and the reviewer are tested in src/tools/presets.test.ts.
test('A27 security runs tests and changes no file', async () => {
  expect(await attempt('security', [READ, TESTS, WRITE, EDIT, SHELL, CHAIN])).toEqual({
    outcomes: ['executed', 'executed', 'unknown_tool', 'unknown_tool', 'denied', 'denied'],
    text: 'one\n',
    created: false,
  })
})

test('A27 a developer writes, edits and runs commands', async () => {
  expect(await attempt('developer', [READ, EDIT, SHELL, TESTS])).toEqual({
    outcomes: ['executed', 'executed', 'executed', 'executed'],
    text: 'two\n',
    created: true,
  })
})
