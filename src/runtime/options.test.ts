import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { chunkModel, patternFrom, textChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent } from '../../test/support/test-troupe.ts'
import { defineTool } from '../tools/define-tool.ts'
import { createTroupe } from './troupe.ts'
import type { TroupeOptions } from './troupe-options.ts'

test('P10 a store address of an unknown kind is rejected, creates no folder, and shows no password', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-store-'))
  const before = process.cwd()
  process.chdir(folder)
  try {
    const error = await createTroupe({ store: 'postgres://admin:secret@localhost/troupe' }).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining("'postgres://…'") })
    expect(JSON.stringify(error)).not.toContain('secret')
    for (const store of ['libsql:local.db', 'file:./troupe.db', 'redis:6379', ':memory:', 'memory:', ''])
      await expect(createTroupe({ store }), store).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await readdir(folder)).toEqual([])
  } finally {
    process.chdir(before)
    await rm(folder, { recursive: true, force: true })
  }
})

test('P47 a store that is none is rejected, and what it lacks is named', async () => {
  const { close: _close, ...incomplete } = Object.fromEntries(
    Object.keys(memoryStore()).map((name) => [name, () => {}]),
  )
  const wrong: [unknown, string][] = [
    [{}, '`store` is no store: it lacks append, createRun, lease, renew, release, run and 32 more'],
    [Promise.resolve(memoryStore()), '`store` is no store: it lacks append'],
    [{ ...incomplete, location: 'here', changes: {} }, '`store` is no store: it lacks close'],
    [null, '`store` is null, and no store'],
    [5, '`store` is a number, and no store'],
  ]
  for (const [store, message] of wrong) {
    await expect(createTroupe({ store } as never)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(message),
      hint: expect.stringContaining('not a promise of one'),
    })
  }
  const troupe = await createTroupe({ store: memoryStore() })
  await troupe.close()
})

const toolNamed = (name: string) =>
  defineTool({
    name,
    description: 'a tool',
    kind: 'read',
    category: 'perception',
    input: z.object({}),
    execute: () => ({ success: true }),
  })
const patternNamed = (name: string) => patternFrom(name, async () => 'done', { events: {} })

/** A model that answers at once, and the tools that each request offers. */
function modelThatNotesTools() {
  const offered: string[][] = []
  const model = chunkModel(({ tools = [] }) => {
    offered.push(tools.map(({ name }) => name))
    return textChunks('done')
  })
  return { model, offered }
}

test.each<[string, TroupeOptions, string]>([
  ['two tools of one name', { tools: [toolNamed('look'), toolNamed('look')] }, "`tools`: the name 'look'"],
  ['a tool named like a pattern tool', { tools: [toolNamed('task')] }, "`tools`: the name 'task'"],
  ['a tool named like an alias of a pattern tool', { tools: [toolNamed('Agent')] }, "`tools`: the name 'Agent'"],
  ['a pattern named like a built-in one', { patterns: [patternNamed('team')] }, "`patterns`: the name 'team'"],
  ['two patterns of one name', { patterns: [patternNamed('a'), patternNamed('a')] }, "`patterns`: the name 'a'"],
  [
    'a pattern with an alias of a built-in one',
    { patterns: [patternFrom('a', async () => 'done', { aliases: ['Agent'] })] },
    "`patterns`: the name 'Agent'",
  ],
  [
    'a pattern with an alias that a tool has',
    { tools: [toolNamed('look')], patterns: [patternFrom('a', async () => 'done', { aliases: ['look'] })] },
    "`patterns`: the name 'look'",
  ],
  [
    'a pattern with an event of a built-in one',
    { patterns: [patternFrom('a', async () => 'done', { events: { 'team:start': z.object({}) } })] },
    "`patterns`: 'team' and 'a' declare the event 'team:start'",
  ],
  ['an agent named like a built-in one', { agents: [agent('reviewer')] }, "`agents`: the name 'reviewer'"],
  ['an agent with the qualified name of a built-in one', { agents: [agent('troupe:architect')] }, 'reserved'],
  ['an agent with the prefix of built-in ones', { agents: [agent('troupe:mine')] }, "`agents`: the name 'troupe:mine'"],
  ['two agents of one name', { agents: [agent('scout'), agent('scout')] }, 'scout'],
  [
    'a pattern named like a tool',
    { tools: [toolNamed('look')], patterns: [patternNamed('look')] },
    "`patterns`: the name 'look'",
  ],
])('P12 %s is rejected', async (_title, options, message) => {
  const creating = createTroupe({ store: 'memory', ...options })
  await expect(creating).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(message) })
})

test('P12 a tool may replace a workspace tool that is disabled', async () => {
  const workspace = await mkdtemp(join(tmpdir(), 'troupe-workspace-'))
  try {
    const options = { store: 'memory', workspace: { workspace }, tools: [toolNamed('Read')] }
    await expect(createTroupe(options)).rejects.toThrow("the name 'Read' is already taken")
    const troupe = await createTroupe({ ...options, disabledTools: ['Read'] })
    await troupe.close()
  } finally {
    await rm(workspace, { recursive: true, force: true })
  }
})

test('P12 a tool has the name of a built-in one for which there is no workspace, and agents that list it get it', async () => {
  const { model, offered } = modelThatNotesTools()
  const troupe = await createTroupe({ store: 'memory', model, tools: ['Read', 'Grep'].map(toolNamed) })
  await troupe.run('task', { agent: 'security_expert', instruction: 'go' })
  expect(offered[0]).toEqual(expect.arrayContaining(['Read', 'Grep']))
  await troupe.close()
})

test('A30 an agent file gets the tools and patterns of the program that it names, also under an alias of a built-in tool', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-agents-'))
  try {
    const write = (name: string, head: string) =>
      writeFile(join(folder, `${name}.md`), `---\nname: ${name}\ndescription: x\n${head}\n---\nGo.\n`)
    await write('listing', 'tools: look, delegate, read_file, review, fetch')
    await write('excluding', 'exclude_tools: search, Grep')
    const { model, offered } = modelThatNotesTools()
    const troupe = await createTroupe({
      ...{ store: 'memory', model, agents: [folder] },
      tools: ['look', 'delegate', 'read_file', 'search'].map(toolNamed),
      patterns: [patternFrom('review', async () => 'done', { aliases: ['fetch'] })],
    })
    for (const name of ['listing', 'excluding']) await troupe.run('task', { agent: name, instruction: 'go' })
    await troupe.close()
    expect(offered[0]?.toSorted()).toEqual(['delegate', 'look', 'read_file', 'review'])
    expect(offered[1]).toEqual(expect.arrayContaining(['look', 'read_file']))
    expect(offered[1]).not.toContain('search')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('P43 an object that is no model is rejected', async () => {
  const create = (options: object) => createTroupe({ store: 'memory', ...options })
  await expect(create({ model: {} })).rejects.toMatchObject({ code: 'invalid_input', message: '`model` is no model' })
  await expect(create({ model: null })).rejects.toMatchObject({ code: 'invalid_input', message: '`model` is no model' })
})

test('PM32 a rule for a built-in tool that is not enabled gets no warning, one for an unknown tool does', async () => {
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const permissions = { allow: ['Bash(npm test:*)', 'Bsh(npm test:*)'], deny: ['Write(.env*)', 'Edit(.env*)'] }
  const troupe = await createTroupe({ store: 'memory', permissions })
  await troupe.close()
  expect(warning.mock.calls).toEqual([[expect.stringContaining('the rule Bsh(npm test:*) does not do')]])
  warning.mockRestore()
})

const act = { ...toolNamed('pay'), kind: 'act' }

test.each<[string, object, string]>([
  [
    'an option',
    { permission: { deny: ['Bash'] } },
    "unknown key 'permission' in the options of `createTroupe`; known: permissions,",
  ],
  ['a permission rule', { permissions: { dney: ['Bash'] } }, "unknown key 'dney' in `permissions`; known: deny,"],
  ['an option of models', { models: { setting: {} } }, "unknown key 'setting' in `models`; known: settings,"],
  [
    'a hook',
    { hooks: [{ name: 'a', beforeTools: () => ({ deny: 'no' }) }] },
    "unknown key 'beforeTools' in `hooks[0]`",
  ],
  ['a key of an agent', { agents: [{ ...agent('scout'), tool: ['Read'] }] }, "unknown key 'tool' in `agents[0]`"],
])('P44 the misspelt name of %s is rejected with the nearest one', async (_title, options, message) => {
  const creating = createTroupe({ store: 'memory', ...options })
  await expect(creating).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining(message),
    hint: expect.stringContaining('did you mean'),
  })
})

test.each<[string, object, string]>([
  ['hooks that are no list', { hooks: { beforeTool: () => ({ deny: 'no' }) } }, '`hooks` is not a list'],
  ['an object without a hook', { hooks: [{ name: 'audit' }] }, '`hooks[0]` has no hook'],
  ['a hook that is no function', { hooks: [{ beforeTool: 'deny' }] }, '`beforeTool` of `hooks[0]` is not a function'],
  ['a group that is no object', { permissions: ['Bash'] }, '`permissions` is not an object'],
  ['a tool of an unknown kind', { tools: [{ ...act, kind: 'write' }] }, '`kind` of the tool \'pay\' is "write"'],
  ['a tool without kind', { tools: [{ ...act, kind: undefined }] }, "`kind` of the tool 'pay' is undefined"],
  ['a tool of an unknown category', { tools: [{ ...act, category: 'money' }] }, "`category` of the tool 'pay' is"],
  ['a tool without execute', { tools: [{ ...act, execute: undefined }] }, "`execute` of the tool 'pay' is not"],
])('P44 %s is rejected', async (_title, options, message) => {
  const creating = createTroupe({ store: 'memory', ...options })
  await expect(creating).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(message) })
})

test('P44 hooks may be an instance of a class, and keep state', async () => {
  class Audit {
    count = 0
    onEvent() {
      this.count++
    }
  }
  const troupe = await createTroupe({ store: 'memory', hooks: [new Audit()] })
  await troupe.close()
})
