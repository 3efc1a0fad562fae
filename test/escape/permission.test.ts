import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Agent, TroupeOptions } from '../../src/index.ts'
import { evaluatePolicies } from '../../src/judgement/permission/permission-policy.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { requireSandbox } from '../support/require-program.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../support/test-troupe.ts'

beforeEach(countEachTest('permissions'))

/*
 * Bypasses of the permission layer that a review found, each closed: deny rules hold in any spelling, only the approved
 * call is executed (TOCTOU), and delegation does not escalate privileges.
 */

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function createFolder(): string {
  requireSandbox()
  const folder = mkdtempSync(join(tmpdir(), 'troupe-permission-'))
  folders.push(folder)
  return folder
}

interface Call {
  name: string
  input: object
}

const write = (file_path: string): Call => ({ name: 'Write', input: { file_path, content: 'x' } })
const doer = agent('doer', { tools: ['Write', 'Edit', 'Read', 'Bash', 'task'] })

/** Each agent makes its calls, one per turn. */
async function runCalls(
  calls: Record<string, Call[]>,
  options: Partial<TroupeOptions> & { folder: string; agents?: Agent[] },
) {
  const model = functionModel((request) => {
    const call = calls[request.session.agent]?.[request.session.turn - 1]
    return call ? { calls: [call] } : { text: lastMessageText(request) }
  })
  const { folder, ...rest } = options
  return createTestTroupe({ model, agents: [doer], workspace: { workspace: folder }, ...rest })
}

test('PM17 a deny rule holds for paths with .., for other tools and in deeper folders', async () => {
  const folder = createFolder()
  const attempts = [
    write('nope/../.env'),
    write('./.env'),
    write('deep/.env'),
    { name: 'Edit', input: { file_path: '.env', old_string: 'a', new_string: 'b' } },
  ]
  const { troupe, task } = await runCalls({ doer: attempts }, { folder, permissions: { deny: ['Write(.env*)'] } })
  await task('doer', 'go')
  expect([existsSync(join(folder, '.env')), existsSync(join(folder, 'deep/.env'))]).toEqual([false, false])
  await troupe.close()
})

test.each([
  'rm\tx',
  '(rm x)',
  '{ rm x; }',
  '/bin/rm x',
  'X=1 rm x',
  'if true; then rm x; fi',
  'echo $(rm x)',
  '"rm" x',
  'sudo rm x',
  'sh -c "rm x"',
  'ls && rm x',
])('PM27 a deny rule for rm denies %j', (subject) => {
  expect(evaluatePolicies([{ deny: ['Bash(rm:*)'] }], { tool: 'Bash', subject, acts: true }).decision).toBe('deny')
})

test('PM27 control: a deny rule for rm allows commands that only mention rm', () => {
  for (const subject of ['ls rm', 'echo rm', 'grep rm x', 'npm run build']) {
    expect(evaluatePolicies([{ deny: ['Bash(rm:*)'] }], { tool: 'Bash', subject, acts: true }).decision).toBe('allow')
  }
})

test('PM10 always grants exactly this call, even if its path contains wildcards', async () => {
  const folder = createFolder()
  const { troupe, task } = await runCalls(
    { asker: [write('**'), write('package.json')] },
    { folder, agents: [agent('asker')] },
  )
  const first = await task('asker', 'go')
  const second = await (await troupe.answer(first.gates[0]?.gate_id ?? '', 'always')).result
  expect(second.status).toBe('waiting')
  expect(second.gates[0]?.question).toContain('package.json')
  expect(existsSync(join(folder, 'package.json'))).toBe(false)
  await troupe.close()
})

test('PM20 rules apply to delegation', async () => {
  const folder = createFolder()
  const delegate = { name: 'Task', input: { agent: 'implementer', instruction: 'x' } }
  const { troupe, task } = await runCalls(
    { doer: [delegate] },
    { folder, permissions: { deny: ['task(implementer)'] } },
  )
  const result = await task('doer', 'go')
  expect(JSON.stringify(result.output)).toContain('denied')
  expect(await troupe.sessions({ run_id: result.run_id }).all()).toHaveLength(1)
  await troupe.close()
})

test('PM21 delegation does not skip permission: only the root agent may use its listed tools without asking', async () => {
  const folder = createFolder()
  const calls = { asker: [{ name: 'task', input: { agent: 'doer', instruction: 'x' } }], doer: [write('a.txt')] }
  const { troupe, task } = await runCalls(calls, { folder, agents: [agent('asker'), doer] })
  expect((await task('asker', 'go')).status).toBe('waiting')
  expect((await task('doer', 'go')).status).toBe('completed')
  await troupe.close()
})

test('PM22 a run resumes only in its own workspace and under its initial rules', async () => {
  const folder = createFolder()
  const store = createFolder()
  const calls = { doer: [{ name: 'ask_user', input: { question: 'go on?' } }, write('.env')] }
  const asks = { ...doer, tools: [...(doer.tools ?? []), 'ask_user'] }
  const started = await runCalls(calls, { folder, store, agents: [asks], permissions: { deny: ['Write(.env*)'] } })
  const parked = await started.task('doer', 'go')
  await started.troupe.close()
  const otherWorkspace = await runCalls(calls, { folder: createFolder(), store, agents: [asks] })
  const gate = parked.gates[0]?.gate_id ?? ''
  await expect(otherWorkspace.troupe.answer(gate, 'yes')).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining(folder),
  })
  await otherWorkspace.troupe.close()
  const resumed = await runCalls(calls, { folder, store, agents: [asks], permissions: {} })
  expect((await (await resumed.troupe.answer(gate, 'yes')).result).status).toBe('completed')
  expect(existsSync(join(folder, '.env'))).toBe(false)
  await resumed.troupe.close()
})

test('PM26 a file that became a symlink after the approval is asked for again', async () => {
  const folder = createFolder()
  const store = createFolder()
  const calls = { asker: [write('note.txt')] }
  const started = await runCalls(calls, { folder, store, agents: [agent('asker')] })
  const parked = await started.task('asker', 'go')
  await started.troupe.close()
  symlinkSync('package.json', join(folder, 'note.txt'))
  const { troupe } = await runCalls(calls, { folder, store, agents: [agent('asker')] })
  const again = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  expect(again.gates[0]?.question).toBe(
    'May asker call Write(package.json)? The call has changed since it was approved.',
  )
  expect(existsSync(join(folder, 'package.json'))).toBe(false)
  await (await troupe.answer(again.gates[0]?.gate_id ?? '', 'allow')).result
  expect(existsSync(join(folder, 'package.json'))).toBe(true)
  await troupe.close()
})

test('PM26 a call that keeps changing is denied after the third answer', async () => {
  const folder = createFolder()
  const { troupe, task } = await runCalls({ asker: [write('note.txt')] }, { folder, agents: [agent('asker')] })
  let result = await task('asker', 'go')
  for (const target of ['one.txt', 'two.txt', 'three.txt']) {
    rmSync(join(folder, 'note.txt'), { force: true })
    symlinkSync(target, join(folder, 'note.txt'))
    result = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'allow')).result
  }
  expect(result.status).toBe('completed')
  expect(JSON.stringify(result.output)).toContain('no longer the one that was approved')
  expect(['one.txt', 'two.txt', 'three.txt'].filter((name) => existsSync(join(folder, name)))).toEqual([])
  await troupe.close()
})

test('PM26 always covers the resolved path: the same call with another target is asked for again', async () => {
  const folder = createFolder()
  const swap = { name: 'Bash', input: { command: 'rm note.txt; ln -s package.json note.txt' } }
  const { troupe, task } = await runCalls(
    { asker: [write('note.txt'), swap, write('note.txt')] },
    { folder, agents: [agent('asker')], permissions: { mode: 'ask', allow: ['Bash'] } },
  )
  const first = await task('asker', 'go')
  const second = await (await troupe.answer(first.gates[0]?.gate_id ?? '', 'always')).result
  expect(second.gates[0]?.question).toBe('May asker call Write(package.json)?')
  expect(existsSync(join(folder, 'package.json'))).toBe(false)
  await troupe.close()
})

test('PM26 a hook that changes the arguments after the approval makes it another call', async () => {
  const folder = createFolder()
  const store = createFolder()
  const calls = { asker: [write('asked.txt')] }
  const started = await runCalls(calls, { folder, store, agents: [agent('asker')] })
  const parked = await started.task('asker', 'go')
  await started.troupe.close()
  const beforeTool = async () => ({ input: { file_path: 'other.txt', content: 'x' } })
  const { troupe } = await runCalls(calls, { folder, store, agents: [agent('asker')], hooks: [{ beforeTool }] })
  const again = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  expect(again.gates[0]?.question).toContain('Write(other.txt)')
  expect(existsSync(join(folder, 'other.txt'))).toBe(false)
  await troupe.close()
})

test('PM41 a granted rule that does not cover the call does not allow it, but applies to later calls', async () => {
  const folder = createFolder()
  const calls = { asker: [write('package.json'), write('src/a.ts')] }
  const { troupe, task } = await runCalls(calls, { folder, agents: [agent('asker')] })
  const parked = await task('asker', 'go')
  const again = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'Write(src/**)')).result
  expect(again.gates[0]?.question).toContain('But the rule Write(src/**) does not match it.')
  const result = await (await troupe.answer(again.gates[0]?.gate_id ?? '', 'deny')).result
  expect(result.status).toBe('completed')
  expect([existsSync(join(folder, 'package.json')), existsSync(join(folder, 'src/a.ts'))]).toEqual([false, true])
  await troupe.close()
})

test('PM27 a granted rule does not override a possible deny rule', async () => {
  const folder = createFolder()
  const bash = (command: string): Call => ({ name: 'Bash', input: { command } })
  const calls = { asker: [bash('echo one'), bash('x=two; echo $x; $x')] }
  const { troupe, task } = await runCalls(calls, {
    folder,
    agents: [agent('asker')],
    permissions: { mode: 'ask', deny: ['Bash(rm)'] },
  })
  const first = await task('asker', 'go')
  const second = await (await troupe.answer(first.gates[0]?.gate_id ?? '', 'Bash')).result
  expect(second.gates[0]?.detail).toMatchObject({ reason: expect.stringContaining('the deny rule Bash(rm) may apply') })
  await troupe.close()
})

test('PM28 a rule about an agent also matches its qualified name and its session', async () => {
  const folder = createFolder()
  const store = createFolder()
  let input: object = { agent: 'implementer', instruction: 'x' }
  const model = functionModel((request) =>
    request.session.agent === 'asker' && request.session.turn === 1
      ? { calls: [{ name: 'task', input }] }
      : { text: lastMessageText(request) },
  )
  const options = { model, store, agents: [agent('asker')], workspace: { workspace: folder } }
  const started = await createTestTroupe(options)
  const { run_id } = await started.task('asker', 'go')
  const session_id = (await started.troupe.sessions({ run_id }).all()).find(
    (session) => session.agent === 'implementer',
  )?.session_id
  await started.troupe.close()
  const { troupe, task } = await createTestTroupe({ ...options, permissions: { deny: ['Task(troupe:implementer)'] } })
  for (const target of [{ agent: 'implementer' }, { agent: 'troupe:implementer' }, { session_id }]) {
    input = { ...target, instruction: 'x' }
    expect(JSON.stringify((await task('asker', 'go')).output), JSON.stringify(target)).toContain('denied')
  }
  await troupe.close()
})

test('PM28 a deny rule for task also applies to collaborate', async () => {
  const folder = createFolder()
  const together = { name: 'collaborate', input: { agents: ['researcher', 'troupe:implementer'], task: 'x' } }
  const { troupe, task } = await runCalls(
    { lead: [together] },
    { folder, agents: [agent('lead', { tools: ['collaborate'] })], permissions: { deny: ['task(implementer)'] } },
  )
  const result = await task('lead', 'go')
  expect(JSON.stringify(result.output)).toContain('denied by the rule task(implementer)')
  expect(await troupe.sessions({ run_id: result.run_id }).all()).toHaveLength(1)
  await troupe.close()
})

test('PM28 an allow rule under an alias of the tool restricts it too', async () => {
  const folder = createFolder()
  const delegate = { name: 'task', input: { agent: 'implementer', instruction: 'x' } }
  const { troupe, task } = await runCalls({ doer: [delegate] }, { folder, permissions: { allow: ['Task(reviewer)'] } })
  const result = await task('doer', 'go')
  expect(JSON.stringify(result.output)).toContain('only Task(reviewer) is allowed')
  await troupe.close()
})

test('PM29 Grep and Glob omit files that Read may not read', async () => {
  const folder = createFolder()
  mkdirSync(join(folder, 'deep/secrets'), { recursive: true })
  for (const path of ['.env', 'deep/.env.local', 'deep/secrets/key', 'open.txt'])
    writeFileSync(join(folder, path), 'MARK=here\n')
  const seen: string[] = []
  const searches = [
    { name: 'Grep', input: { pattern: 'MARK', output_mode: 'content' } },
    { name: 'Grep', input: { pattern: 'MARK', glob: '.env', output_mode: 'content' } },
    { name: 'Grep', input: { pattern: 'MARK', path: 'deep', output_mode: 'count' } },
    { name: 'Glob', input: { pattern: '**/*' } },
  ]
  const model = functionModel((request) => {
    seen.push(lastMessageText(request))
    const call = searches[request.session.turn - 1]
    return call ? { calls: [call] } : { text: 'end' }
  })
  const permissions = { deny: ['Read(.env*)'], ask: ['Read(secrets)'] }
  const agents = [agent('searcher')]
  const { troupe, task } = await createTestTroupe({ model, agents, workspace: { workspace: folder }, permissions })
  await task('searcher', 'go')
  const note = '[files that permission rules deny are omitted]'
  expect(seen.slice(1)).toEqual([
    `open.txt:1:MARK=here\n${note}`,
    `[no matches]\n${note}`,
    `[no matches]\n${note}`,
    `open.txt\n${note}`,
  ])
  await troupe.close()
})

test('PM34 a resumed session has no tool that a new session of the same caller would not have', async () => {
  const folder = createFolder()
  let session_id = ''
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    session_id ||= name === 'lead' ? (/"session_id":"([^"]+)"/.exec(lastMessageText(request))?.[1] ?? '') : ''
    if (name === 'lead' && turn === 1)
      return { calls: [{ name: 'task', input: { agent: 'default', instruction: 'hello' } }] }
    if (name === 'lead' && turn === 2)
      return { calls: [{ name: 'task', input: { agent: 'reader', instruction: 'x' } }] }
    if (name === 'reader' && turn === 1)
      return { calls: [{ name: 'task', input: { session_id, instruction: 'run it' } }] }
    if (name === 'default' && lastMessageText(request) === 'run it') return { calls: [write('by-resumed.txt')] }
    return { text: lastMessageText(request) }
  })
  const agents = [agent('lead', { tools: ['Write', 'Read', 'task'] }), agent('reader', { tools: ['Read', 'task'] })]
  const limits = { depth: 4 }
  const { troupe, task } = await createTestTroupe({
    model,
    agents,
    limits,
    workspace: { workspace: folder },
    permissions: {},
  })
  const result = await task('lead', 'go')
  expect(JSON.stringify(result.output)).toContain('unknown_tool')
  expect(existsSync(join(folder, 'by-resumed.txt'))).toBe(false)
  await troupe.close()
})

test('PM32 createTroupe warns about rules that cannot have their apparent effect', async () => {
  const warnings: string[] = []
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation((text) => void warnings.push(String(text)))
  const permissions = { deny: ['Write(~/x)', 'task(nobody)', 'mcp__none'], ask: ['AskUserQuestion', 'TaskOutput'] }
  const careless = agent('careless', { permissions: { deny: ['Read(../x)'] } })
  const { troupe } = await runCalls({}, { folder: createFolder(), permissions, agents: [careless] })
  warning.mockRestore()
  expect(warnings.map((text) => /rule (\S+) does not/.exec(text)?.[1])).toEqual([
    'Write(~/x)',
    'task(nobody)',
    'mcp__none',
    'Read(../x)',
  ])
  await troupe.close()
})

test('PM28 deny rules match aliases of tools', async () => {
  const asks = { name: 'ask_user', input: { question: 'Who?' } }
  const permissions = { deny: ['AskUserQuestion'] }
  const { troupe, task } = await runCalls(
    { curious: [asks] },
    { folder: createFolder(), permissions, agents: [agent('curious')] },
  )
  const result = await task('curious', 'go')
  expect([result.status, JSON.stringify(result.output).includes('denied')]).toEqual(['completed', true])
  await troupe.close()
})

test('PM7 an invalid rule is rejected before anything starts', async () => {
  const folder = createFolder()
  mkdirSync(join(folder, 'w'))
  await expect(runCalls({}, { folder, permissions: { deny: ['Write x'] } })).rejects.toMatchObject({
    code: 'invalid_input',
  })
})
