import assert from 'node:assert/strict'
import { isEvent } from '../../kernel/event.ts'
import type { Model, ModelChunk } from '../../kernel/model.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { contractPattern, createContractRun, readEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'

const askingPattern = contractPattern('asks', async (context) => {
  await context.step('before', () => 'before')
  const answer = await context.ask('gate', { question: 'Well?' })
  return context.step('after', () => `they said ${String(answer)}`)
})

async function answerContractGate(stage: EngineHarness, run_id: string): Promise<void> {
  const [gate] = await stage.store.openGates({ run_id })
  assert.ok(gate, 'no question is open')
  await stage.store.enqueueCommand(run_id, { kind: 'answer', gate_id: gate.gate_id, answer: 'yes', by: 'me' }, 1)
}

export async function parksAtGate(stage: EngineHarness): Promise<void> {
  const { engine } = await stage.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(stage, 'asks')
  await stage.runUntil(engine.execute(run_id))
  const row = await stage.store.run(run_id)
  assert.deepEqual([row?.status, row?.owner, row?.open_gates], ['waiting', null, 1])
  await answerContractGate(stage, run_id)
  engine.wake(run_id)
  await stage.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'completed')
  assert.equal((await readEvents(stage, run_id, 'step:end')).length, 2)
}

export async function resumesInOtherEngine(stage: EngineHarness): Promise<void> {
  const first = await stage.startEngine({ patterns: [askingPattern] })
  const second = await stage.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(stage, 'asks')
  await stage.runUntil(first.engine.execute(run_id))
  await answerContractGate(stage, run_id)
  await stage.runUntil(second.engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'completed')
}

export async function keepsAnswerWhileParking(stage: EngineHarness): Promise<void> {
  const { engine } = await stage.startEngine({ patterns: [askingPattern] })
  for (let n = 0; n < 40; n++) {
    const run_id = await createContractRun(stage, 'asks', `r_${n}`)
    const working = engine.execute(run_id)
    // The store has it parked; the engine may not have heard of it yet.
    while ((await readStatus(stage, run_id)) !== 'waiting') await stage.advance(1)
    await stage.advance(n % 5)
    await answerContractGate(stage, run_id)
    engine.wake(run_id)
    await stage.runUntil(Promise.all([working, engine.execute(run_id)]))
    assert.equal(await readStatus(stage, run_id), 'completed', `run ${n}`)
  }
}

/** The lead delegates, its helper comes to no end before it is told to. */
export function hangingModel(entered: () => void): Model {
  async function* stream(request: { session: { agent: string } }, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    if (request.session.agent === 'lead') {
      yield { type: 'text', text: 'I ask the helper.' }
      const input = { agent: 'helper', instruction: 'work' }
      yield { type: 'tool-call', id: 'c1', name: 'task', input }
      yield { type: 'finish', stop: 'tool_calls', usage: { ...NO_USAGE, input: 3, output: 2 } }
      return
    }
    yield { type: 'text', text: 'half of it' }
    entered()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    yield { type: 'finish', stop: 'end', usage: { ...NO_USAGE, input: 3, output: 2 } }
  }
  return { name: 'endless', stream }
}

export async function cancelsDescendants(stage: EngineHarness): Promise<void> {
  const entered = Promise.withResolvers<void>()
  const works = contractPattern('works', async (context) => {
    const lead = { name: 'lead', description: '', instructions: 'lead' }
    return context.perform(lead, { instruction: 'go' }, { key: 'session' })
  })
  const { engine } = await stage.startEngine({ patterns: [works], model: hangingModel(entered.resolve) })
  const run_id = await createContractRun(stage, 'works')
  const working = engine.execute(run_id)
  await stage.runUntil(entered.promise)
  await stage.store.enqueueCommand(run_id, { kind: 'cancel', reason: 'enough', by: 'me' }, 1)
  engine.wake(run_id)
  await stage.runUntil(working)
  const rows = await stage.store.sessions({ project: 'default', run_id })
  const ends = rows.map(({ agent, status, stop_reason }) => [agent, status, stop_reason].join(' ')).sort()
  assert.deepEqual(ends, ['helper cancelled cancelled', 'lead cancelled cancelled'])
  assert.match(rows.find(({ agent }) => agent === 'lead')?.text ?? '', /I ask the helper/)
  assert.match(rows.find(({ agent }) => agent === 'helper')?.text ?? '', /half of it/)
  assert.equal((await readEvents(stage, run_id, 'run:cancel')).length, 1)
}

export async function resumesEndedSession(stage: EngineHarness): Promise<void> {
  async function* stream(request: { messages: readonly unknown[] }): AsyncGenerator<ModelChunk> {
    yield { type: 'text', text: `heard ${request.messages.length}` }
    yield { type: 'finish', stop: 'end', usage: { ...NO_USAGE, input: 1, output: 1 } }
  }
  const agent = { name: 'lead', description: '', instructions: 'lead' }
  const twice = contractPattern('twice', async (context) => {
    const first = await context.perform(agent, { instruction: 'one' }, { key: 'first' })
    const second = await context.perform(undefined, { instruction: 'two', resume: first.session_id }, { key: 'second' })
    return [first.text, second.text]
  })
  const { engine } = await stage.startEngine({ patterns: [twice], model: { name: 'counts', stream } })
  const run_id = await createContractRun(stage, 'twice')
  await stage.runUntil(engine.execute(run_id))
  const end = (await readEvents(stage, run_id)).at(-1)
  assert.ok(isEvent(end, 'run:end'))
  assert.deepEqual(end.data.output, ['heard 1', 'heard 3'])
}

export async function cancelsWaitingRun(stage: EngineHarness): Promise<void> {
  const { engine } = await stage.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(stage, 'asks')
  await stage.runUntil(engine.execute(run_id))
  await stage.store.enqueueCommand(run_id, { kind: 'cancel', reason: '', by: 'me' }, 1)
  engine.wake(run_id)
  await stage.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'cancelled')
  assert.deepEqual(await stage.store.openGates({}), [])
}
