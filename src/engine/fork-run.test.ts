import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  chunkModel,
  flushEventLoop,
  patternFrom,
  textChunks,
  toolCallChunks,
} from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import {
  findSeq,
  findSeqByKey,
  forkAndVerify,
  parallelDelegation,
  responseText,
} from '../../test/support/parallel-delegation.ts'
import {
  agents,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
  storeOf,
  taskCall,
} from '../../test/support/test-troupe.ts'
import { canonicalJournal } from '../entries/inspect.ts'
import type { Event } from '../index.ts'
import { createTroupe, defineTool, isEvent } from '../index.ts'

describe('CA15 forking in the middle of a parallel section', () => {
  test('CA15 a fork at any event keeps the results before it, continues, and reaches the same result', async () => {
    const { requests, sent, model, tools } = parallelDelegation()
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const before = JSON.stringify(events)
    for (const { seq } of events.slice(0, -1)) {
      const [calls, sends] = [requests.length, sent.length]
      const { result, events: own } = await forkAndVerify(troupe, run.run_id, seq)
      expect(result.status, `at ${seq}`).toBe('completed')
      expect(responseText(result)).toBe(responseText(run))
      const ended = events.filter((event) => event.seq <= seq && event.type === 'model:end').length
      expect(requests.length - calls, `calls after ${seq}`).toBe(8 - ended)
      const begun = events.filter(
        (event) => event.seq <= seq && isEvent(event, 'tool:pre') && event.data.kind === 'act',
      )
      expect(sent.length - sends, `actions after ${seq}`).toBe(3 - begun.length)
      expect(own.filter((event) => event.type === 'step:drift')).toEqual([])
      expect(canonicalJournal(own)).toEqual(canonicalJournal(events))
      expect(JSON.stringify(own.slice(1))).not.toContain(run.run_id)
    }
    expect(JSON.stringify(await troupe.events(run.run_id).all())).toBe(before)
  })

  test('CA15 a fork has its own ids, including in texts that agents read, and records its origin', async () => {
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (name === 'lead' && turn === 1) return { calls: [taskCall('coder', 'a')] }
      if (name === 'lead' && turn === 2)
        return { calls: [{ name: 'task', input: { session_id: lastResultSessionId(request), instruction: 'more' } }] }
      return { text: name === 'lead' ? `asked ${lastResultSessionId(request)}` : `turn ${turn}` }
    })
    const { troupe, task } = await createTestTroupe({ agents, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const cut = findSeqByKey(events, 'model:end', 'session/turn/3/model') - 1
    const { result, events: own } = await forkAndVerify(troupe, run.run_id, cut)
    const ids = (list: readonly Event[]) => new Set(list.flatMap(({ session_id }) => session_id ?? []))
    expect(ids(own).size).toBe(2)
    for (const id of ids(events)) expect(JSON.stringify(own)).not.toContain(id)
    expect(responseText(result)).toMatch(new RegExp(`asked (${[...ids(own)].join('|')})$`))
    expect(own[0]).toMatchObject({ data: { forked_from: { run_id: run.run_id, seq: cut, changes: {} } } })
    const inherited = own.filter((event) => event.type !== 'run:attempt').length
    expect((own[0] as { data: { forked_from: { inherited: number } } }).data.forked_from.inherited).toBeLessThan(
      inherited,
    )
    const more = await troupe.run('task', { session_id: [...ids(own)][1] ?? '', instruction: 'again' })
    expect(responseText(more)).toBe('turn 3')
  })

  test('CA15 a session continued from another run becomes a session of the fork', async () => {
    const model = functionModel((request) => ({
      text: `read ${request.messages.length}: ${lastMessageText(request)}`,
    }))
    const { troupe, task } = await createTestTroupe({ agents, model })
    const first = await task('lead', 'one')
    const { session_id } = first.output as { session_id: string }
    const second = await troupe.run('task', { session_id, instruction: 'two' })
    const events = await troupe.events(second.run_id).all()
    const { result, events: own } = await forkAndVerify(
      troupe,
      second.run_id,
      findSeqByKey(events, 'model:begin', 'session/turn/2/model'),
    )
    expect(responseText(result)).toBe(responseText(second))
    expect(own.filter((event) => event.type === 'step:drift')).toEqual([])
    const copy = (result.output as { session_id: string }).session_id
    expect(copy).not.toBe(session_id)
    expect(responseText(await troupe.run('task', { session_id: copy, instruction: 'three' }))).toBe('read 5: three')
    expect(responseText(await troupe.run('task', { session_id, instruction: 'three' }))).toBe('read 5: three')
    const again = await forkAndVerify(troupe, result.run_id, 3)
    expect(responseText(again.result)).toBe(responseText(second))
    expect((await troupe.replay(result.run_id)).differences).toEqual([])
  })

  test('CA15 a fork survives a restart and can be replayed and forked again', async () => {
    const { model, tools } = parallelDelegation()
    const store = memoryStore()
    const { troupe, task } = await createTestTroupe({ agents, tools, model, store })
    const run = await task('lead', 'go')
    const cut = findSeqByKey(
      await troupe.events(run.run_id).all(),
      'tool:post',
      'session/turn/1/tool/1/session/turn/1/tool/0',
    )
    const changes = { agents: { coder: { instructions: 'You are loud.' } } }
    const { result } = await forkAndVerify(troupe, run.run_id, cut, changes)
    expect((await troupe.replay(result.run_id)).differences).toEqual([])
    const { result: second } = await forkAndVerify(troupe, result.run_id, 2)
    expect(responseText(second)).toContain('LOUD')
    const other = await createTroupe({ store, agents, tools, model: parallelDelegation().model })
    expect((await other.replay(second.run_id)).differences).toEqual([])
  })
})

describe('CA16 work in progress at the cut', () => {
  test('CA16 an action in progress keeps its later outcome and is not repeated', async () => {
    const { sent, model, tools } = parallelDelegation()
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const key = 'session/turn/1/tool/1/session/turn/1/tool/0'
    const { events: own } = await forkAndVerify(troupe, run.run_id, findSeqByKey(events, 'tool:pre', key))
    expect(sent.filter((text) => text === 'b')).toHaveLength(1)
    expect(own.find((event) => isEvent(event, 'tool:post') && event.data.key === key)?.data).toMatchObject({
      output: 'sent b',
    })
  })

  test('CA16 an action with an unknown outcome is outcome_unknown in the fork too', async () => {
    const stuck = defineTool({
      name: 'send',
      description: 'sends',
      kind: 'act',
      category: 'action',
      input: z.object({}),
      execute: () => new Promise(() => {}),
    })
    const model = chunkModel((request) =>
      request.session.turn === 1 ? toolCallChunks({ name: 'send' }) : textChunks(lastMessageText(request).slice(0, 40)),
    )
    const { troupe } = await createTestTroupe({ agents, tools: [stuck], model })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await flushEventLoop(20)
    const { result } = await forkAndVerify(troupe, handle.run_id, (await troupe.events(handle.run_id).all()).length)
    expect(responseText(result)).toContain('outcome_unknown')
    await troupe.cancel(handle.run_id)
  })

  test('CA16 a step of kind act keeps its outcome; a model request in flight is repeated and not counted as lost', async () => {
    const done: string[] = []
    const work = patternFrom('work', async (context) => {
      const acted = await context.step('act', () => `${done.push('act')}`, { kind: 'act' })
      return { acted, read: await context.step('read', () => `${done.push('read')}`) }
    })
    const { troupe } = await createTestTroupe({ agents, model: chunkModel(() => []), patterns: [work] })
    const run = await troupe.run('work', {})
    const events = await troupe.events(run.run_id).all()
    const { result } = await forkAndVerify(troupe, run.run_id, findSeqByKey(events, 'step:begin', 'act'))
    expect(done).toEqual(['act', 'read', 'read'])
    expect(result.output).toEqual({ acted: '1', read: '3' })
    const asked = await createTestTroupe({ agents, model: functionModel(() => ({ text: 'hi' })) })
    const { run_id } = await asked.task('lead', 'go')
    const own = await asked.troupe.events(run_id).all()
    const fork = await forkAndVerify(asked.troupe, run_id, findSeqByKey(own, 'model:begin', 'session/turn/1/model'))
    expect(fork.events.filter(({ type }) => type === 'model:lost')).toEqual([])
  })

  test('CA16 a gate that was open at the cut is open again', async () => {
    const model = functionModel((request) =>
      request.session.turn === 1
        ? { calls: [{ name: 'ask_user', input: { question: 'which?', choices: ['red', 'blue'] } }] }
        : { text: lastMessageText(request) },
    )
    const { troupe, task } = await createTestTroupe({ agents, model })
    const waiting = await task('lead', 'go')
    const gate_id = waiting.gates[0]?.gate_id ?? ''
    await (await troupe.answer(gate_id, 'red')).result
    const events = await troupe.events(waiting.run_id).all()
    const { result } = await forkAndVerify(
      troupe,
      waiting.run_id,
      findSeq(events, ({ type }) => type === 'gate:open'),
    )
    expect(result.status).toBe('waiting')
    expect(result.gates[0]?.gate_id).not.toBe(gate_id)
    const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'blue')).result
    expect(responseText(ended)).toContain('blue')
    expect(responseText(await troupe.result(waiting.run_id))).toContain('red')
  })
})

describe('CA17 changes', () => {
  test('CA17 changed instructions apply to running and new sessions; earlier messages stay', async () => {
    const { requests, model, tools } = parallelDelegation()
    const { troupe, task } = await createTestTroupe({ agents, tools, model })
    const run = await task('lead', 'go')
    const events = await troupe.events(run.run_id).all()
    const cut = findSeqByKey(events, 'model:end', 'session/turn/1/tool/0/session/turn/2/model')
    const changes = { agents: { coder: { instructions: 'You are loud.' } } }
    const { result, events: own } = await forkAndVerify(troupe, run.run_id, cut, changes)
    expect(responseText(result)).toBe('quiet sent a LOUD sent b LOUD sent c')
    expect(requests.at(-1)).toMatch(/^lead 2/)
    expect(own[0]).toMatchObject({ data: { forked_from: { changes } } })
    const fresh = await forkAndVerify(troupe, run.run_id, 1, changes)
    expect(responseText(fresh.result)).toBe('LOUD sent a LOUD sent b LOUD sent c')
  })

  test('CA17 the model of the run or of one agent, and limits, can be changed', async () => {
    const namedModel = (name: string) => ({
      ...functionModel(({ session }) => ({ text: `${name} for ${session.agent}` })),
      name,
    })
    const models = { custom: [namedModel('red'), namedModel('blue')] }
    const { troupe } = await createTestTroupe({ agents, model: 'red', models })
    const run = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(responseText(run)).toBe('red for lead')
    const start = (events: readonly Event[]) => events[0]?.data as { limits: { calls: number }; model?: string }
    const { result, events } = await forkAndVerify(troupe, run.run_id, 1, { model: 'blue', limits: { calls: 7 } })
    expect(responseText(result)).toBe('blue for lead')
    expect(start(events)).toMatchObject({ model: 'blue', limits: { calls: 7 } })
    const cut = findSeqByKey(await troupe.events(run.run_id).all(), 'session:input', 'session/input')
    const one = await forkAndVerify(troupe, run.run_id, cut, { agents: { lead: { model: 'blue' } } })
    expect(responseText(one.result)).toBe('blue for lead')
  })

  test('CA17 an unused answer, an open gate, and the input before the first step can be changed', async () => {
    const model = functionModel((request) =>
      request.session.turn === 1
        ? { calls: [{ name: 'ask_user', input: { question: 'which?', choices: ['red', 'blue'] } }] }
        : { text: lastMessageText(request) },
    )
    const { troupe, task } = await createTestTroupe({ agents, model })
    const waiting = await task('lead', 'go')
    const gate_id = waiting.gates[0]?.gate_id ?? ''
    await (await troupe.answer(gate_id, 'red')).result
    const events = await troupe.events(waiting.run_id).all()
    const answered = findSeq(events, ({ type }) => type === 'gate:answer')
    const answers = { [gate_id]: 'blue' }
    expect(responseText((await forkAndVerify(troupe, waiting.run_id, answered, { answers })).result)).toContain('blue')
    expect(responseText((await forkAndVerify(troupe, waiting.run_id, answered - 2, { answers })).result)).toContain(
      'blue',
    )
    const input = { agent: 'critic', instruction: 'other text' }
    const { events: own } = await forkAndVerify(troupe, waiting.run_id, 1, { input })
    expect(own.find((event) => isEvent(event, 'session:input'))?.data).toMatchObject({
      message: { content: [{ text: 'other text' }] },
    })
  })

  test('CA17 recorded fields that the input no longer has are left out', async () => {
    const pattern = (input: z.ZodType<object>) => [patternFrom('work', async () => 'done', { input } as object)]
    const before = await createTestTroupe({ patterns: pattern(z.strictObject({ task: z.string(), old: z.boolean() })) })
    const { run_id } = await before.troupe.run('work', { task: 'x', old: true })
    const after = await createTestTroupe({
      patterns: pattern(z.strictObject({ task: z.string() })),
      store: storeOf(before.troupe),
    })
    const fork = await after.troupe.fork(run_id, 1, { input: { task: 'y' } })
    const [start] = await after.troupe.events(fork.run_id).all()
    expect(start?.data).toMatchObject({ input: { task: 'y' } })
    expect(start?.data).not.toHaveProperty('input.old')
  })
})

describe('CA18 invalid forks', () => {
  test('CA18 each invalid fork is rejected with a hint at a valid one', async () => {
    const model = functionModel((request) =>
      request.session.turn === 1
        ? { calls: [{ name: 'ask_user', input: { question: 'which?', choices: ['red', 'blue'] } }] }
        : { text: lastMessageText(request) },
    )
    const { troupe, task } = await createTestTroupe({ agents, model })
    const { run_id, gates } = await task('lead', 'go')
    const gate_id = gates[0]?.gate_id ?? ''
    await (await troupe.answer(gate_id, 'red')).result
    const events = await troupe.events(run_id).all()
    const last = events.length
    const runs = (await troupe.runs().all()).length
    const expectRejected = (cut: number, changes: object, error: object) =>
      expect(troupe.fork(run_id, cut, changes)).rejects.toMatchObject(error)
    await expectRejected(0, {}, { code: 'invalid_input', message: expect.stringContaining(`1 to ${last}`) })
    await expectRejected(last + 1, {}, { code: 'invalid_input' })
    await expectRejected(1.5, {}, { code: 'invalid_input' })
    await expectRejected(last, {}, { code: 'invalid_input', hint: expect.stringContaining(`--at ${last - 1}`) })
    await expectRejected(
      3,
      { input: { instruction: 'x' } },
      { code: 'invalid_input', hint: expect.stringContaining('--at 1') },
    )
    await expectRejected(
      1,
      { input: { instruction: 5 } },
      { code: 'invalid_input', message: expect.stringContaining('instruction') },
    )
    await expectRejected(
      3,
      { agents: { codr: {} } },
      { code: 'unknown_agent', alternatives: expect.arrayContaining(['coder']) },
    )
    await expectRejected(3, { limits: { calls: -1 } }, { code: 'invalid_input' })
    await expectRejected(3, { answers: { [gate_id]: 'blue' } }, { code: 'unknown_gate' })
    const answered = findSeq(events, ({ type }) => type === 'gate:answer')
    await expectRejected(
      answered,
      { answers: { [gate_id]: 'green' } },
      { code: 'invalid_input', alternatives: ['red', 'blue'] },
    )
    const used = findSeqByKey(events, 'tool:post', 'session/turn/1/tool/0')
    await expectRejected(
      used,
      { answers: { [gate_id]: 'blue' } },
      { code: 'invalid_input', hint: `fork before that event: --at ${used - 1}` },
    )
    await expect(troupe.fork('r_none', 1)).rejects.toMatchObject({ code: 'unknown_run' })
    expect(await troupe.runs().all()).toHaveLength(runs)
  })

  test('CA18 a cancelled run can only be forked before its cancellation', async () => {
    const model = chunkModel(({ session }) => (session.turn === 1 ? new Promise<never>(() => {}) : textChunks('x')))
    const { troupe } = await createTestTroupe({ agents, model })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await flushEventLoop(20)
    await troupe.cancel(handle.run_id)
    const events = await troupe.events(handle.run_id).all()
    const cancelled = findSeq(events, ({ type }) => type === 'run:cancel')
    await expect(troupe.fork(handle.run_id, cancelled)).rejects.toMatchObject({
      message: expect.stringContaining('cancelled'),
      hint: expect.stringContaining(`--at ${cancelled - 1}`),
    })
  })
})

describe('CA21 a fork that is being written', () => {
  /** A run with an action, and what a worker in another process claims while its fork is written. */
  async function forkFixture(failing: boolean) {
    let now = 1_700_000_000_000
    let actions = 0
    const act = patternFrom('act', async (context) => {
      await context.step('once', () => ++actions, { kind: 'act' })
      await context.step('more', () => 'more')
    })
    const store = memoryStore({ now: () => now })
    const options = { store, patterns: [act], agents }
    const troupe = await createTroupe(options)
    const worker = await createTroupe(options)
    const { run_id } = await troupe.run('act', {})
    const claimed: unknown[] = []
    const createRun = store.createRun.bind(store) as (...call: unknown[]) => Promise<unknown>
    store.createRun = (async (...call: unknown[]) => {
      const created = await createRun(...call)
      if (failing) throw new Error('killed')
      const handle = await worker.claim()
      claimed.push(handle && (await handle.result).run_id)
      return created
    }) as never
    const events = await troupe.events(run_id).all()
    const cut = events.findIndex((event) => isEvent(event, 'step:end')) + 1
    return {
      claimed,
      worker,
      fork: () => troupe.fork(run_id, cut),
      actions: () => actions,
      expireLeases: () => {
        now += 60_000
      },
    }
  }

  test('CA21 a worker does not claim a fork before its events are written', async () => {
    const { fork, claimed, actions } = await forkFixture(false)
    const handle = await fork()
    expect((await handle.result).status).toBe('completed')
    expect(claimed).toEqual([undefined])
    expect(actions()).toBe(1)
  })

  test('CA21 a fork whose process died before its events were written is never executed', async () => {
    const { fork, worker, actions, expireLeases } = await forkFixture(true)
    await expect(fork()).rejects.toThrow('killed')
    expireLeases()
    expect(await worker.claim()).toBeUndefined()
    const [run] = await worker.runs().all()
    const resumed = await worker.resume(run?.run_id ?? '')
    await expect(resumed.result).rejects.toMatchObject({ code: 'store_corrupt', hint: expect.stringContaining('fork') })
    expect(actions()).toBe(1)
  })
})
