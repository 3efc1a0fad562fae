import assert from 'node:assert/strict'
import { isEvent } from '../../src/kernel/event.ts'
import type { Model, ModelChunk } from '../../src/kernel/model.ts'
import { NO_USAGE } from '../../src/kernel/model.ts'
import { contractPattern, contractRunStart, createContractRun, readRunEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'

export const askingPattern = contractPattern('asks', async (context) => {
  await context.step('before', () => 'before')
  const answer = await context.ask('gate', { question: 'Well?' })
  return context.step('after', () => `answer: ${String(answer)}`)
})

export async function answerContractGate(harness: EngineHarness, run_id: string): Promise<void> {
  const [gate] = await harness.store.openGates({ run_id })
  assert.ok(gate, 'no open gate')
  await harness.store.enqueueCommand(run_id, { kind: 'answer', gate_id: gate.gate_id, answer: 'yes', by: 'me' }, 1)
}

export async function parksAtGate(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(harness, 'asks')
  await harness.runUntil(engine.execute(run_id))
  const row = await harness.store.run(run_id)
  assert.deepEqual([row?.status, row?.owner, row?.open_gates], ['waiting', null, 1])
  await answerContractGate(harness, run_id)
  await harness.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'completed')
  assert.equal((await readRunEvents(harness, run_id, 'step:end')).length, 2)
}

export async function resumesInOtherEngine(harness: EngineHarness): Promise<void> {
  const first = await harness.startEngine({ patterns: [askingPattern] })
  const second = await harness.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(harness, 'asks')
  await harness.runUntil(first.engine.execute(run_id))
  await answerContractGate(harness, run_id)
  await harness.runUntil(second.engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function keepsAnswerWhileParking(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [askingPattern] })
  for (let n = 0; n < 40; n++) {
    const run_id = await createContractRun(harness, 'asks', `r_${n}`)
    const execution = engine.execute(run_id)
    // The store has parked the run; the engine may not know yet.
    while ((await readStatus(harness, run_id)) !== 'waiting') await harness.advance(1)
    await harness.advance(n % 5)
    await answerContractGate(harness, run_id)
    await harness.runUntil(Promise.all([execution, engine.execute(run_id)]))
    assert.equal(await readStatus(harness, run_id), 'completed', `run ${n}`)
  }
}

/** The lead delegates; the helper streams until it is aborted. */
export function hangingModel(entered: () => void): Model {
  async function* stream(request: { session: { agent: string } }, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    if (request.session.agent === 'lead') {
      yield { type: 'text', text: 'Delegating to the helper.' }
      const input = { agent: 'helper', instruction: 'work' }
      yield { type: 'tool-call', id: 'c1', name: 'task', input }
      yield { type: 'finish', stop: 'tool_calls', usage: { ...NO_USAGE, input: 3, output: 2 } }
      return
    }
    yield { type: 'text', text: 'partial text' }
    entered()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    yield { type: 'finish', stop: 'end', usage: { ...NO_USAGE, input: 3, output: 2 } }
  }
  return { name: 'hanging', stream }
}

export async function cancelsDescendants(harness: EngineHarness): Promise<void> {
  const entered = Promise.withResolvers<void>()
  const works = contractPattern('works', async (context) => {
    const lead = { name: 'lead', description: '', instructions: 'lead' }
    return context.perform(lead, { instruction: 'go' }, { key: 'session' })
  })
  const { engine } = await harness.startEngine({ patterns: [works], model: hangingModel(entered.resolve) })
  const run_id = await createContractRun(harness, 'works')
  const execution = engine.execute(run_id)
  await harness.runUntil(entered.promise)
  await harness.store.enqueueCommand(run_id, { kind: 'cancel', reason: 'enough', by: 'me' }, 1)
  await harness.runUntil(execution)
  const rows = await harness.store.sessions({ project: 'default', run_id })
  const ends = rows.map(({ agent, status, stop_reason }) => [agent, status, stop_reason].join(' ')).sort()
  assert.deepEqual(ends, ['helper cancelled cancelled', 'lead cancelled cancelled'])
  assert.match(rows.find(({ agent }) => agent === 'lead')?.text ?? '', /Delegating to the helper/)
  assert.match(rows.find(({ agent }) => agent === 'helper')?.text ?? '', /partial text/)
  assert.equal((await readRunEvents(harness, run_id, 'run:cancel')).length, 1)
}

export async function resumesEndedSession(harness: EngineHarness): Promise<void> {
  async function* stream(request: { messages: readonly unknown[] }): AsyncGenerator<ModelChunk> {
    yield { type: 'text', text: `messages: ${request.messages.length}` }
    yield { type: 'finish', stop: 'end', usage: { ...NO_USAGE, input: 1, output: 1 } }
  }
  const agent = { name: 'lead', description: '', instructions: 'lead' }
  const twice = contractPattern('twice', async (context) => {
    const first = await context.perform(agent, { instruction: 'one' }, { key: 'first' })
    const second = await context.perform(undefined, { instruction: 'two', resume: first.session_id }, { key: 'second' })
    return [first.text, second.text]
  })
  const { engine } = await harness.startEngine({ patterns: [twice], model: { name: 'counts', stream } })
  const run_id = await createContractRun(harness, 'twice')
  await harness.runUntil(engine.execute(run_id))
  const end = (await readRunEvents(harness, run_id)).at(-1)
  assert.ok(isEvent(end, 'run:end'))
  assert.deepEqual(end.data.output, ['messages: 1', 'messages: 3'])
}

export async function cancelsWaitingRun(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [askingPattern] })
  const run_id = await createContractRun(harness, 'asks')
  await harness.runUntil(engine.execute(run_id))
  await harness.store.enqueueCommand(run_id, { kind: 'cancel', reason: '', by: 'me' }, 1)
  await harness.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'cancelled')
  assert.deepEqual(await harness.store.openGates({}), [])
}

/** The command is stored as soon as the run is, before the engine has begun to execute it. */
export async function cancelsStartedRun(harness: EngineHarness): Promise<void> {
  const { store } = harness
  const hangs = contractPattern('hangs', (context) => context.step('never', () => new Promise(() => {})))
  const { engine } = await harness.startEngine({ patterns: [hangs] })
  const unsubscribe = store.changes.subscribe((change) => {
    if (change.kind !== 'events') return
    unsubscribe()
    void store.enqueueCommand('r_hangs', { kind: 'cancel', reason: '', by: 'me' }, 1)
  })
  const { done } = await harness.runUntil(engine.start(contractRunStart('hangs')))
  assert.equal((await harness.runUntil(done))?.end.data.status, 'cancelled')
}
