import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'
import type { Agent, TroupeOptions } from '../index.ts'
import type { ToolSpec } from '../kernel/model.ts'
import { loadBuiltInPatterns } from '../runtime/built-in-patterns.ts'
import { defineTool } from './define-tool.ts'
import type { ToolsOptions } from './tools.ts'
import { createTools } from './tools.ts'

interface Settings extends Omit<TroupeOptions, 'workspace'> {
  workspace?: Partial<ToolsOptions>
  /** A call of the first turn. */
  call?: { name: string; input: object }
  files?: Readonly<Record<string, string>>
}

/** The tools that an agent is offered in a workspace, and the results of its call. */
async function offerTools(agent: string, { call, files = {}, workspace = {}, ...options }: Settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-tools-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  let offered: readonly ToolSpec[] = []
  const model = functionModel(({ tools, session }) => {
    offered = tools
    return call && session.agent === agent && session.turn === 1 ? { calls: [call] } : { text: 'end' }
  })
  const { troupe, task } = await createTestTroupe({
    ...options,
    model,
    workspace: { workspace: folder, sandbox: 'none', ...workspace },
  })
  onTestFinished(() => troupe.close())
  const { run_id } = await task(agent, 'go')
  const events = await troupe.events(run_id).all()
  const errors = events.flatMap((event) => (event.type === 'tool:error' ? [event.data.error] : []))
  const results = events.flatMap((event) => (event.type === 'tool:post' ? [event.data.output] : []))
  return { names: offered.map(({ name }) => name), offered, errors, results }
}

const SEARCH = { name: 'fake', host: 'search.example', search: async () => [] }

test('TO86 the web tools are offered with network access only, even to an agent that lists them', async () => {
  expect((await offerTools('researcher')).names).toEqual(['Grep', 'Glob'])
  const fetchOnly = await offerTools('researcher', { workspace: { network: { hosts: ['*'] } } })
  expect(fetchOnly.names).toEqual(['WebFetch', 'Grep', 'Glob'])
  const both = await offerTools('researcher', { workspace: { network: { hosts: ['search.example'], search: SEARCH } } })
  expect(both.names).toEqual(['WebSearch', 'WebFetch', 'Grep', 'Glob'])
  const hidden = await offerTools('researcher', { workspace: { network: { hosts: ['a.example'], search: SEARCH } } })
  expect(hidden.names).not.toContain('WebSearch')
})

test('TO86 a call of a tool that cannot work says why, and what the operator can do', async () => {
  const call = { name: 'WebFetch', input: { url: 'https://a.example' } }
  const { errors } = await offerTools('researcher', { call })
  expect(errors).toEqual([
    expect.stringMatching(/WebFetch' cannot be used here: network access is disabled.*--allow-host/),
  ])
})

const server = { 'node_modules/typescript-language-server/lib/cli.mjs': '' }

test('TO86 LSP is offered where a language server can be started', async () => {
  expect((await offerTools('default')).names).not.toContain('LSP')
  expect((await offerTools('default', { files: server, workspace: { sandbox: {} } })).names).toContain('LSP')
  expect((await offerTools('default', { workspace: { lsp: ['my-server'] } })).names).toContain('LSP')
})

const planner: Agent = { name: 'planner', description: 'plans', instructions: 'Plan.' }

test('TO94 every tool has one of the five categories', async () => {
  const network = { hosts: ['*'], search: SEARCH }
  const workspace = mkdtempSync(join(tmpdir(), 'troupe-tools-'))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  const { tools, close } = createTools({ workspace, sandbox: 'none', network, lsp: ['my-server'] })
  onTestFinished(() => close())
  const categories = new Map<string, string[]>()
  for (const { name, category } of [...tools, ...(await loadBuiltInPatterns())])
    categories.set(category, [...(categories.get(category) ?? []), name])
  expect(Object.fromEntries(categories)).toEqual({
    perception: expect.arrayContaining(['Read', 'Glob', 'Grep', 'LSP', 'WebFetch', 'WebSearch', 'ArtifactRead']),
    action: ['Write', 'Edit', 'Bash', 'ArtifactWrite'],
    interaction: ['ask_user'],
    planning: ['EnterPlanMode', 'ExitPlanMode'],
    task_management: expect.arrayContaining(['TaskCreate', 'TaskUpdate', 'TaskList', 'task', 'collaborate', 'build']),
  })
})

test('TO83 tools for task lists are offered to agents that list them', async () => {
  expect((await offerTools('default')).names).not.toContain('TaskCreate')
  const listed = { ...planner, tools: ['Read', 'TaskCreate'] }
  expect((await offerTools('planner', { agents: [listed] })).names).toEqual(['Read', 'TaskCreate'])
  const added = { ...planner, extra_tools: ['TaskCreate'] }
  const { names } = await offerTools('planner', { agents: [added] })
  expect(names).toContain('TaskCreate')
  expect(names).toContain('Bash')
  expect(names).not.toContain('TaskList')
})

const descriptionOf = ({ offered }: { offered: readonly ToolSpec[] }, tool: string) =>
  offered.find(({ name }) => name === tool)?.description

test('TO84 the description of a tool names the calls that rules allow', async () => {
  const reviewer = await offerTools('reviewer')
  expect(descriptionOf(reviewer, 'Bash')).toMatch(/Only these are allowed: npm test \*, npm run test \*,.*node --test/)
  expect(descriptionOf(reviewer, 'Read')).not.toContain('allowed')
  const permissions = { mode: 'ask' as const, allow: ['Bash(npm test:*)', 'Read'] }
  const free = await offerTools('default', { permissions })
  expect(descriptionOf(free, 'Bash')).toContain('Without approval by a person: npm test *.')
  expect(descriptionOf(free, 'Read')).not.toContain('approval')
  const all = await offerTools('default', { permissions: { mode: 'ask', allow: ['Bash'] } })
  expect(descriptionOf(all, 'Bash')).not.toContain('approval')
})

test('TO85 an agent sees the fields of task and collaborate that a model chooses', async () => {
  const { offered } = await offerTools('default')
  const fields = (tool: string) =>
    Object.keys(offered.find(({ name }) => name === tool)?.input.properties as object).sort()
  expect(fields('task')).toEqual(['agent', 'background', 'context_depth', 'instruction', 'output', 'session_id'])
  expect(fields('task_result')).toEqual(['session_id'])
  expect(fields('collaborate')).toEqual([
    ...['agents', 'categories', 'context', 'coordinator_config', 'mode', 'synthesis', 'task'],
  ])
})

test('TO85 schemas of tools have no bounds that tell a model nothing', async () => {
  const { offered } = await offerTools('default')
  const text = JSON.stringify(offered)
  expect(text).not.toMatch(/9007199254740991|"minLength":1|propertyNames|\$schema|additionalProperties|"minimum":0/)
  expect(text).toContain('"maximum":600000')
})

test('TO85 bounds that tell a model something are kept', async () => {
  const input = {
    type: 'object',
    properties: {
      stars: { type: 'integer', minimum: 1, maximum: 5 },
      page: { type: 'integer', minimum: 1 },
      year: { type: 'integer', minimum: 1900 },
      share: { type: 'number', minimum: 0 },
      minimum: { type: 'string' },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
    additionalProperties: false,
  }
  const execute = async () => ({ success: true as const, output: '' })
  const rate = defineTool({ name: 'rate', description: 'Rates.', category: 'action', kind: 'read', input, execute })
  const { offered } = await offerTools('default', { tools: [rate] })
  expect(offered.find(({ name }) => name === 'rate')?.input).toEqual({
    type: 'object',
    properties: { ...input.properties, page: { type: 'integer' } },
  })
})

test('TO85 a call may use the fields that models do not see', async () => {
  const call = { name: 'task', input: { agent: 'researcher', instruction: 'go', model: 'fast', cache: true } }
  expect((await offerTools('planner', { agents: [planner], call })).errors).toEqual([])
  const unknown = { name: 'task', input: { agent: 'researcher', instruction: 'go', colour: 'red' } }
  expect((await offerTools('planner', { agents: [planner], call: unknown })).errors).toEqual([
    expect.stringContaining('colour'),
  ])
})

test('TO88 a limit of Grep or Read above what a result may have is no error', async () => {
  const files = { 'a.txt': `1\n${'line\n'.repeat(300)}`, 'empty.txt': '\n'.repeat(20_100) }
  const results = async (name: string, input: object) =>
    (await offerTools('default', { files, call: { name, input } })).results
  const grep = { pattern: '1', path: 'a.txt', output_mode: 'content' }
  const [context] = await results('Grep', { ...grep, '-A': 5000 })
  expect(String(context).split('\n')).toHaveLength(101)
  const [read] = await results('Read', { file_path: 'empty.txt', limit: 1_000_000 })
  expect(String(read).length).toBeLessThan(120_000)
})
