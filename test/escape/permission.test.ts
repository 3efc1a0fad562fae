import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Agent, TroupeOptions } from '../../src/index.ts'
import { judge } from '../../src/judgement/permission.ts'
import { agent, lastInput, playing, stage } from '../stage.ts'

/*
 * Ways past the permission layer that a review found, each closed: what rules forbid stays forbidden however it is
 * spelled, what a person approved is what is done, and nobody gets more by asking somebody else.
 */

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function workspace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-leave-'))
  folders.push(folder)
  return folder
}

interface Call {
  name: string
  input: object
}

const write = (file_path: string): Call => ({ name: 'Write', input: { file_path, content: 'x' } })
const doer = agent('doer', { tools: ['Write', 'Edit', 'Read', 'Bash', 'task'] })

/** One agent makes these calls, one a turn; others make the calls given for them. */
async function plays(
  calls: Record<string, Call[]>,
  options: Partial<TroupeOptions> & { folder: string; agents?: Agent[] },
) {
  const model = playing((request) => {
    const call = calls[request.session.agent]?.[request.session.turn - 1]
    return call ? { calls: [call] } : { text: lastInput(request) }
  })
  const { folder, ...rest } = options
  return stage({ model, agents: [doer], workspace: { workspace: folder }, ...rest })
}

test('PM17 a path that climbs does not get past a rule that denies, nor does another tool or a deeper folder', async () => {
  const folder = workspace()
  const made = [
    write('nope/../.env'),
    write('./.env'),
    write('deep/.env'),
    { name: 'Edit', input: { file_path: '.env', old_string: 'a', new_string: 'b' } },
  ]
  const { troupe, task } = await plays({ doer: made }, { folder, permissions: { deny: ['Write(.env*)'] } })
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
])('PM18 a rule that denies rm denies %j', (subject) => {
  expect(judge([{ deny: ['Bash(rm:*)'] }], { tool: 'Bash', subject, acts: true }).answer).toBe('deny')
})

test('PM18 and leaves alone what only looks like it', () => {
  for (const subject of ['ls rm', 'echo rm', 'grep rm x', 'npm run build']) {
    expect(judge([{ deny: ['Bash(rm:*)'] }], { tool: 'Bash', subject, acts: true }).answer).toBe('allow')
  }
})

test('PM19 always means exactly this call, whatever wildcards it is spelled with', async () => {
  const folder = workspace()
  const { troupe, task } = await plays(
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

test('PM20 rules hold for delegation too', async () => {
  const folder = workspace()
  const delegate = { name: 'Task', input: { agent: 'implementer', instruction: 'x' } }
  const { troupe, task } = await plays({ doer: [delegate] }, { folder, permissions: { deny: ['task(implementer)'] } })
  const result = await task('doer', 'go')
  expect(JSON.stringify(result.output)).toContain('denied')
  expect(await troupe.sessions(result.run_id)).toHaveLength(1)
  await troupe.close()
})

test('PM21 nobody goes unasked by having another do it: only the agent that was named may use what its file names', async () => {
  const folder = workspace()
  const calls = { asker: [{ name: 'task', input: { agent: 'doer', instruction: 'x' } }], doer: [write('a.txt')] }
  const { troupe, task } = await plays(calls, { folder, agents: [agent('asker'), doer] })
  expect((await task('asker', 'go')).status).toBe('waiting')
  expect((await task('doer', 'go')).status).toBe('completed')
  await troupe.close()
})

test('PM22 a run goes on in its own folder and under the rules it was started with', async () => {
  const folder = workspace()
  const store = workspace()
  const calls = { doer: [{ name: 'ask_user', input: { question: 'go on?' } }, write('.env')] }
  const asks = { ...doer, tools: [...(doer.tools ?? []), 'ask_user'] }
  const begun = await plays(calls, { folder, store, agents: [asks], permissions: { deny: ['Write(.env*)'] } })
  const parked = await begun.task('doer', 'go')
  await begun.troupe.close()
  const elsewhere = await plays(calls, { folder: workspace(), store, agents: [asks] })
  const refused = (await elsewhere.troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes')).result
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(folder) })
  await elsewhere.troupe.close()
  const back = await plays(calls, { folder, store, agents: [asks], permissions: {} })
  expect((await (await back.troupe.resume(parked.run_id)).result).status).toBe('completed')
  expect(existsSync(join(folder, '.env'))).toBe(false)
  await back.troupe.close()
})

test('PM23 what a person approved is what is done: a file that became a link meanwhile is refused', async () => {
  const folder = workspace()
  writeFileSync(join(folder, 'Makefile'), 'all:\n')
  const { troupe, task } = await plays({ asker: [write('note.txt')] }, { folder, agents: [agent('asker')] })
  const parked = await task('asker', 'go')
  symlinkSync('Makefile', join(folder, 'note.txt'))
  await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'allow')).result
  expect(readFileSync(join(folder, 'Makefile'), 'utf8')).toBe('all:\n')
  await troupe.close()
})

test('PM24 a rule that is none is refused before anything starts', async () => {
  const folder = workspace()
  mkdirSync(join(folder, 'w'))
  await expect(plays({}, { folder, permissions: { deny: ['Write x'] } })).rejects.toMatchObject({
    code: 'invalid_input',
  })
})
