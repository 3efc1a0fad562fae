import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createShellTool } from '../../../test/support/shell-tool.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Agent } from '../../index.ts'
import { createTroupe, isEvent } from '../../index.ts'

const { shell, commands: done } = createShellTool()

/** A model whose worker runs these commands, one per turn, and then repeats the last result. */
function commandModel(...commands: string[]) {
  return functionModel((request) => {
    if (request.session.agent === 'lead' && request.session.turn === 1) {
      return { calls: [{ name: 'task', input: { agent: 'worker', instruction: 'go' } }] }
    }
    if (request.session.agent === 'lead') return { text: lastMessageText(request) }
    const command = commands[request.session.turn - 1]
    return command === undefined
      ? { text: lastMessageText(request) }
      : { calls: [{ name: 'Bash', input: { command } }] }
  })
}

async function runCommands(commands: string[], permissions: object, name = 'worker', worker = {}) {
  done.length = 0
  const model = commandModel(...commands)
  const agents = [agent('lead'), agent('worker', worker)]
  const { troupe, task } = await createTestTroupe({ model, agents, tools: [shell], permissions })
  return { model, troupe, result: await task(name, 'go') }
}

test('PM8 an ask rule opens a gate, even for a sub-agent, and an allowed call is made', async () => {
  const { troupe, result } = await runCommands(['npm test'], { ask: ['Bash'] }, 'lead')
  expect(result.status).toBe('waiting')
  expect(result.gates[0]).toMatchObject({ question: 'May worker call Bash(npm test)?', asked_by: 'worker' })
  expect(done).toEqual([])
  const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'allow')).result
  expect(ended.status).toBe('completed')
  expect(done).toEqual(['npm test'])
})

test('PM4 a denial is final for the call, and the model gets the reason', async () => {
  const { troupe, result } = await runCommands(['rm x'], { ask: ['Bash'] })
  const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'not while I watch')).result
  expect(done).toEqual([])
  expect((ended.output as { response: string }).response).toMatch(/denied.*a person said no: not while I watch/)
  const refused = (await troupe.events(ended.run_id).all()).filter((event) => isEvent(event, 'tool:error'))
  expect(refused).toHaveLength(1)
})

test('PM45 a denied call stays denied in the run; another call is asked', async () => {
  const { troupe, result } = await runCommands(['rm x', 'rm x', 'rm y', 'rm x'], { ask: ['Bash'] })
  const asked = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'never')).result
  expect(asked.gates.map(({ question }) => question)).toEqual(['May worker call Bash(rm y)?'])
  const ended = await (await troupe.answer(asked.gates[0]?.gate_id ?? '', 'allow')).result
  expect([ended.status, done]).toEqual(['completed', ['rm y']])
  expect((ended.output as { response: string }).response).toContain(
    'a person already said no to this call in this run: never',
  )
  const events = await troupe.events(ended.run_id).all()
  expect(events.filter((event) => isEvent(event, 'gate:open'))).toHaveLength(2)
})

test('PM45 a call that a person denied to one agent is denied to the other agents of the run', async () => {
  done.length = 0
  const names = ['worker', 'second', 'third']
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const delegate = names[turn - 1]
    if (name === 'lead' && delegate) return { calls: [{ name: 'task', input: { agent: delegate, instruction: 'go' } }] }
    if (name !== 'lead' && turn === 1) return { calls: [{ name: 'Bash', input: { command: 'rm x' } }] }
    return { text: lastMessageText(request) }
  })
  const agents = [agent('lead'), ...names.map((name) => agent(name))]
  const { troupe, task } = await createTestTroupe({ model, agents, tools: [shell], permissions: { ask: ['Bash'] } })
  const asked = await task('lead', 'go')
  expect(asked.gates.map(({ question }) => question)).toEqual(['May worker call Bash(rm x)?'])
  const ended = await (await troupe.answer(asked.gates[0]?.gate_id ?? '', 'never')).result
  expect([ended.status, done]).toEqual(['completed', []])
  const events = await troupe.events(ended.run_id).all()
  expect(events.filter((event) => isEvent(event, 'gate:open'))).toHaveLength(1)
  const reasons = events.flatMap((event) => (isEvent(event, 'tool:error') ? event.data.error : []))
  expect(reasons).toHaveLength(3)
  for (const reason of reasons.slice(1)) expect(reason).toContain('already said no to this call in this run: never')
})

test('PM45 a denied call stays denied after a restart, and not in a new run', async () => {
  done.length = 0
  const folder = await mkdtemp(join(tmpdir(), 'troupe-denied-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const open = () =>
    createTroupe({
      ...{ store: join(folder, 'troupe.db'), agents: [agent('worker')], tools: [shell] },
      ...{ model: commandModel('rm x', 'rm y', 'rm x'), permissions: { ask: ['Bash'] } },
    })
  const first = await open()
  const asked = await first.run('task', { agent: 'worker', instruction: 'go' })
  const next = await (await first.answer(asked.gates[0]?.gate_id ?? '', 'never')).result
  expect(next.gates.map(({ question }) => question)).toEqual(['May worker call Bash(rm y)?'])
  await first.close()
  await using second = await open()
  const ended = await (await second.answer(next.gates[0]?.gate_id ?? '', 'allow')).result
  expect([ended.status, done]).toEqual(['completed', ['rm y']])
  expect(ended.output).toMatchObject({ response: expect.stringContaining('said no to this call in this run: never') })
  const later = await second.run('task', { agent: 'worker', instruction: 'go' })
  expect(later.gates.map(({ question }) => question)).toEqual(['May worker call Bash(rm x)?'])
})

test('PM10 always grants exactly this call for the run, a rule grants what it matches, and a new run asks again', async () => {
  const { troupe, result } = await runCommands(['npm test', 'npm test', 'npm run lint', 'npm run build'], {
    ask: ['Bash'],
  })
  const second = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'always')).result
  expect(second.gates.map((gate) => gate.question)).toEqual(['May worker call Bash(npm run lint)?'])
  const third = await (await troupe.answer(second.gates[0]?.gate_id ?? '', 'Bash(npm run:*)')).result
  expect(third.status).toBe('completed')
  expect(done).toEqual(['npm test', 'npm test', 'npm run lint', 'npm run build'])
  const later = await troupe.run('task', { agent: 'worker', instruction: 'go' })
  expect(later.status).toBe('waiting')
})

test('PM11 a call denied by a rule of the run or of the agent file lists what is allowed', async () => {
  const allow = ['Bash(npm test:*)']
  const { result } = await runCommands(['rm x'], {}, 'worker', { permissions: { allow } })
  expect(done).toEqual([])
  expect((result.output as { response: string }).response).toContain('allowed: Bash(npm test:*)')
  await runCommands(['npm test'], { deny: ['Bash(npm:*)'] }, 'worker', { permissions: { allow } })
  expect(done).toEqual([])
})

test('PM12 only a clear yes or a rule for this tool allows the call', async () => {
  for (const answer of ['Write(x)', 'allowed?', 'Bash', '']) {
    const { troupe, result } = await runCommands(['ls'], { ask: ['Bash'] })
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', answer)).result
    expect([answer, done.length]).toEqual([answer, answer === 'Bash' ? 1 : 0])
  }
})

test('PM41 an answer with a rule that does not cover the call is asked again', async () => {
  const { troupe, result } = await runCommands(['npm test 2>out'], { ask: ['Bash'] })
  let next = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'Bash(npm test:*)')).result
  expect(next.gates[0]?.question).toContain('But the rule Bash(npm test:*) does not match it.')
  next = await (await troupe.answer(next.gates[0]?.gate_id ?? '', 'allow')).result
  expect([next.status, done]).toEqual(['completed', ['npm test 2>out']])
})

test('PM41 when a deny rule may apply, a rule is neither offered nor accepted as the answer', async () => {
  const { troupe, result } = await runCommands(['git $x'], { deny: ['Bash(git push:*)'] })
  expect(result.gates[0]?.detail).toMatchObject({ answers: ['allow', 'always', 'deny'] })
  let next = result
  for (let time = 1; time <= 3; time++) {
    next = await (await troupe.answer(next.gates[0]?.gate_id ?? '', 'Bash(git $x)')).result
  }
  expect((next.output as { response: string }).response).toContain('only an approval of this exact call')
  expect(done).toEqual([])
})

test('PM40 inherited tools stay under the rules of the caller', async () => {
  done.length = 0
  const lead = agent('lead', { permissions: { allow: ['Bash(npm test:*)'], deny: ['Bash(curl:*)'] } })
  const commands = ['touch x', 'npm test']
  const run = async (worker: Partial<Agent>) => {
    const { task } = await createTestTroupe({
      model: commandModel(...commands),
      agents: [lead, agent('worker', worker)],
      tools: [shell],
    })
    await task('lead', 'go')
    return done.splice(0)
  }
  expect(await run({})).toEqual(['npm test'])
  expect(await run({ permissions: { allow: ['Bash(touch:*)'] } })).toEqual([])
  expect(await run({ tools: ['Bash'], origin: { by: 'model' } })).toEqual(['npm test'])
  expect(await run({ tools: ['Bash'] })).toEqual(commands)
})

test('PM40 inherited rules apply at every depth and to a resumed session', async () => {
  done.length = 0
  let session_id = ''
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const text = lastMessageText(request)
    session_id ||= /"session_id":"([^"]+_worker)"/.exec(text)?.[1] ?? ''
    const call = (input: object) => ({ calls: [{ name: 'task', input }] })
    if (name === 'free' && turn === 1) return call({ agent: 'worker', instruction: 'wait' })
    if (name === 'free' && turn === 2) return call({ agent: 'lead', instruction: 'go' })
    if (name === 'lead' && turn === 1) return call({ agent: 'between', instruction: 'go' })
    if (name === 'lead' && turn === 2) return call({ session_id, instruction: 'make' })
    if (name === 'between' && turn === 1) return call({ agent: 'worker', instruction: 'make' })
    return name === 'worker' && text.startsWith('make')
      ? { calls: [{ name: 'Bash', input: { command: 'touch x' } }] }
      : { text }
  })
  const agents = [
    agent('free', { tools: ['Bash', 'task'] }),
    agent('lead', { tools: ['Bash', 'task'], permissions: { allow: ['Bash(npm test:*)'] } }),
    agent('between'),
    agent('worker'),
  ]
  const { troupe, task } = await createTestTroupe({ model, agents, tools: [shell], limits: { depth: 4 } })
  const { run_id, status } = await task('free', 'go')
  const refused = (await troupe.events(run_id).all()).filter((event) => isEvent(event, 'tool:error'))
  expect([status, session_id !== '', refused.length, done]).toEqual(['completed', true, 2, []])
})
