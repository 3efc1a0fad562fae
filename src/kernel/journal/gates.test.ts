import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, lastMessageText, storeOf } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import type { Store } from '../../store/store.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'

const folders: string[] = []

async function makeFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-gates-'))
  folders.push(path)
  return path
}

afterEach(async () => {
  for (const path of folders.splice(0)) await rm(path, { recursive: true, force: true })
})

const delegate = (...to: string[]) =>
  toolCallChunks(...to.map((name) => ({ name: 'task', input: { agent: name, instruction: `for ${name}` } })))
const askUser = (question: string, choices?: string[]) =>
  toolCallChunks({ name: 'ask_user', input: { question, ...(choices ? { choices } : undefined) } })

/** lead delegates to middle, middle to asker, which asks; each repeats the result it gets. */
const chainModel = () =>
  chunkModel((request) => {
    const { agent: name, turn } = request.session
    if (turn > 1) return textChunks(`${name} got: ${lastMessageText(request)}`)
    if (name === 'lead') return delegate('middle')
    return name === 'middle' ? delegate('asker') : askUser('Which colour?', ['red', 'blue'])
  })

const chainOptions: TroupeOptions = {
  agents: ['lead', 'middle', 'asker'].map((name) => agent(name)),
  limits: { depth: 2 },
}

describe('a question of a sub-agent', () => {
  test('G1 a question parks the run with asked_by, and the answer returns to the agent that asked', async () => {
    const model = chainModel()
    const { troupe, task, eventTypes } = await createTestTroupe({ model, ...chainOptions })
    const waiting = await task('lead', 'go')
    expect(waiting).toMatchObject({ status: 'waiting', stop_reason: null })
    const [gate] = await troupe.gates().all()
    expect(gate).toMatchObject({ question: 'Which colour?', choices: ['red', 'blue'], asked_by: 'asker' })
    expect(gate?.run_id).toBe(waiting.run_id)
    expect(gate?.session_id).toMatch(/_asker$/)
    expect((await eventTypes(waiting.run_id)).at(-1)).toBe('run:park')
    const result = await (await troupe.answer(gate?.gate_id ?? '', 'blue', { by: 'ann' })).result
    expect(result.status).toBe('completed')
    expect((result.output as { response: string }).response).toMatch(/lead got.*middle got.*asker got.*blue/)
    expect(model.requests).toHaveLength(6)
    const events = await troupe.events(waiting.run_id).all()
    expect(eventData(events, 'gate:answer')).toMatchObject([{ answer: 'blue', by: 'ann' }])
    expect(await troupe.gates().all()).toEqual([])
  })

  test('G2 open gates survive the end of the process', async () => {
    const store = join(await makeFolder(), 'troupe.db')
    const first = await createTroupe({ store, model: chainModel(), ...chainOptions })
    const { run_id } = await first.run('task', { agent: 'lead', instruction: 'go' })
    await first.close()
    const model = chainModel()
    const second = await createTroupe({ store, model, ...chainOptions })
    const [gate] = await second.gates().all()
    expect(gate).toMatchObject({ run_id, question: 'Which colour?', asked_by: 'asker' })
    const result = await (await second.answer(gate?.gate_id ?? '', 'red')).result
    expect(result.status).toBe('completed')
    expect(model.requests.map(({ session }) => `${session.agent} ${session.turn}`)).toEqual([
      'asker 2',
      'middle 2',
      'lead 2',
    ])
    await second.close()
  })

  test('ST14 the first answer wins, and the second fails with gate_answered', async () => {
    const { troupe, task } = await createTestTroupe({ model: chainModel(), ...chainOptions })
    const { gates } = await task('lead', 'go')
    const gate_id = gates[0]?.gate_id ?? ''
    const answers = await Promise.allSettled([
      troupe.answer(gate_id, 'red', { by: 'ann' }),
      troupe.answer(gate_id, 'blue', { by: 'bob' }),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(answers[1]).toMatchObject({ reason: { code: 'gate_answered', message: expect.stringContaining('ann') } })
  })

  test('G4 an answer that is not one of the choices fails and lists them', async () => {
    const { troupe, task } = await createTestTroupe({ model: chainModel(), ...chainOptions })
    const { gates } = await task('lead', 'go')
    const refused = troupe.answer(gates[0]?.gate_id ?? '', 'green')
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input', alternatives: ['red', 'blue'] })
    expect(await troupe.gates().all()).toHaveLength(1)
  })

  test('G4 an unknown gate lists the open ones, and gates of other projects are unknown', async () => {
    const { troupe, task } = await createTestTroupe({ model: chainModel(), ...chainOptions })
    const { gates } = await task('lead', 'go')
    const gate_id = gates[0]?.gate_id ?? ''
    await expect(troupe.answer('g_0', 'red')).rejects.toMatchObject({ code: 'unknown_gate', alternatives: [gate_id] })
    const other = await createTroupe({ store: storeOf(troupe), project: 'other', model: chainModel(), ...chainOptions })
    expect(await other.gates().all()).toEqual([])
    await expect(other.answer(gate_id, 'red')).rejects.toMatchObject({ code: 'unknown_gate' })
  })
})

/** Stores `run:park` at once, with the release of the lease, and confirms it when `go` resolves. */
function slowlyParkingStore() {
  const store: Store = memoryStore()
  const append = store.append.bind(store)
  const parked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  store.append = (batch) => {
    const outcomes = append(batch)
    if (!batch.some(({ events }) => events.at(-1)?.type === 'run:park')) return outcomes
    parked.resolve()
    return go.promise.then(() => outcomes)
  }
  return { store, parked, go }
}

describe('several branches and gates', () => {
  const pair: TroupeOptions = { agents: ['lead', 'asker', 'worker'].map((name) => agent(name)) }

  test('G5 other branches continue while one waits, and an answer given meanwhile needs no restart', async () => {
    const working = Promise.withResolvers<void>()
    const step = Promise.withResolvers<void>()
    const model = chunkModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'lead') return turn === 1 ? delegate('asker', 'worker') : textChunks('both are back')
      if (name === 'asker') return turn === 1 ? askUser('May I?') : textChunks('asker done')
      working.resolve()
      return step.promise.then(() => textChunks('worker done'))
    })
    const { troupe } = await createTestTroupe({ model, ...pair })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await working.promise
    const answered = (async () => {
      for (;;) {
        const [gate] = await troupe.gates().all()
        if (gate) return troupe.answer(gate.gate_id, 'yes')
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await answered
    while (model.requests.filter(({ session }) => session.agent === 'asker').length < 2)
      await new Promise((resolve) => setImmediate(resolve))
    step.resolve()
    expect((await handle.result).status).toBe('completed')
    const events = await troupe.events(handle.run_id).all()
    expect([eventData(events, 'run:attempt').length, eventData(events, 'run:park').length]).toEqual([1, 0])
  })

  test('G5 a run does not park while a branch is still loading its model', async () => {
    const script = join(await makeFolder(), 'script.json')
    await writeFile(script, JSON.stringify({ rules: [{ reply: { text: 'worker done' } }] }))
    const model = chunkModel(({ session }) => {
      if (session.agent === 'lead')
        return session.turn === 1 ? delegate('asker', 'worker') : textChunks('both are back')
      return session.turn === 1 ? askUser('May I?') : textChunks('asker done')
    })
    const agents = [agent('lead'), agent('asker'), agent('worker', { model: `scripted:${script}` })]
    const { troupe, task } = await createTestTroupe({ model, agents })
    const { run_id, status } = await task('lead', 'go')
    expect(status).toBe('waiting')
    expect(eventData(await troupe.events(run_id).all(), 'session:end').map(({ text }) => text)).toEqual(['worker done'])
  })

  test('G6 several gates can be answered in any order, and the last answer ends the wait', async () => {
    const many = patternFrom('many', async (context) => {
      const answers = await context.parallel([0, 1, 2], 3, (n) => context.ask(`${n}`, { question: `question ${n}` }))
      return answers.map((answer) => (answer.ok ? answer.value : 'lost'))
    })
    const { troupe } = await createTestTroupe({ model: chunkModel(() => []), patterns: [many] })
    const { run_id, gates } = await troupe.run('many', {})
    expect(gates.map(({ question }) => question)).toEqual(['question 0', 'question 1', 'question 2'])
    for (const n of [2, 0]) {
      const handle = await troupe.answer(gates[n]?.gate_id ?? '', `answer ${n}`)
      expect((await handle.result).status).toBe('waiting')
    }
    await (await troupe.answer(gates[1]?.gate_id ?? '', 'answer 1')).result
    expect((await troupe.result(run_id)).output).toEqual(['answer 0', 'answer 1', 'answer 2'])
  })

  test('G6 an answer after run:park, before its engine knows that it is stored, wakes the run', async () => {
    const { store, parked, go } = slowlyParkingStore()
    const question = patternFrom('question', (context) => context.ask('q', { question: 'now?' }))
    const { troupe } = await createTestTroupe({ store, model: chunkModel(() => []), patterns: [question] })
    const handle = await troupe.stream('question', {})
    await parked.promise
    const [gate] = await troupe.gates().all()
    await troupe.answer(gate?.gate_id ?? '', 'yes')
    go.resolve()
    expect(await handle.result).toMatchObject({ status: 'completed', output: 'yes' })
  })

  test('G6 an answer from another process right after run:park is executed there, and both see the end', async () => {
    const { store, parked, go } = slowlyParkingStore()
    const question = patternFrom('question', (context) => context.ask('q', { question: 'now?' }))
    const options = { store, model: chunkModel(() => []), patterns: [question] }
    const [one, other] = [await createTestTroupe(options), await createTestTroupe(options)]
    const handle = await one.troupe.stream('question', {})
    await parked.promise
    const [gate] = await other.troupe.gates().all()
    const answered = await other.troupe.answer(gate?.gate_id ?? '', 'yes')
    expect((await answered.result).status).toBe('completed')
    go.resolve()
    expect(await handle.result).toMatchObject({ status: 'completed', output: 'yes' })
  })
})

test('G7 time at a gate counts towards no limit', async () => {
  const world = simulatedWorld(1)
  const model = chunkModel(chunksByTurn(askUser('May I?'), textChunks('done')))
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [agent('asker')],
    engine: { world },
    limits: { wall_ms: 60_000 },
  })
  const waiting = await world.runUntil(task('asker', 'go'))
  await world.runUntil(world.sleep(7 * 24 * 3_600_000))
  const handle = await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')
  expect(await world.runUntil(handle.result)).toMatchObject({ status: 'completed', usage: { calls: 2 } })
})
