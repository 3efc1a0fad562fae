import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  lastInstruction,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { eventData, flushEventLoop, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { ModelChunk, ModelRequest } from '../../index.ts'
import { simulatedWorld } from '../../testing/index.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }))
const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
const spoken = (text: string): ModelChunk[] => [
  { type: 'text', text },
  { type: 'finish', stop: 'end', usage },
]

/** Answers that are held back until `release`; `most` is how many were waited for at once. */
function heldBack() {
  const waiting: (() => void)[] = []
  const seen = { most: 0, total: 0 }
  const everybody = async () => {
    const turn = Promise.withResolvers<void>()
    waiting.push(turn.resolve)
    seen.total += 1
    seen.most = Math.max(seen.most, waiting.length)
    await turn.promise
    return spoken(contributionJson('go'))
  }
  return { seen, everybody, release: () => waiting.shift()?.() }
}

async function drive<T>(work: Promise<T>, release: () => void): Promise<T> {
  let over = false
  const done = () => {
    over = true
  }
  work.then(done, done)
  while (!over) {
    await flushEventLoop()
    release()
  }
  return work
}

/** A lead that calls the tool once and repeats what it heard. */
const caller =
  (input: object): AgentReplies[string] =>
  (request: ModelRequest) =>
    request.session.turn === 1 ? toolCallChunks({ name: 'collaborate', input }) : lastMessageText(request)
const lead = agent('lead', { tools: ['collaborate'] })

describe('max_parallel', () => {
  test('CO39 never more than max_parallel are asked at once, three unless told, in every mode', async () => {
    for (const [limits, most] of [
      [{}, 3],
      [{ max_parallel: 2 }, 2],
      [{ max_parallel: 5 }, 5],
    ] as const) {
      const held = heldBack()
      const work = runCollaboration({ everybody: held.everybody }, { agents: five, synthesis: 'merge', limits })
      const { output } = await drive(work, held.release)
      expect(output.contributions).toHaveLength(5)
      expect(held.seen).toEqual({ most, total: 5 })
    }
    const held = heldBack()
    const plan = { plan: 'p', assignments: ['b', 'c', 'd', 'e'].map((name) => ({ agent: name, subtask: 'x' })) }
    const lines = {
      a: (request: ModelRequest) => (request.output ? JSON.stringify(plan) : 'done'),
      everybody: held.everybody,
    }
    await drive(
      runCollaboration(lines, { agents: five, mode: 'hierarchical', limits: { max_parallel: 2 } }),
      held.release,
    )
    expect(held.seen).toEqual({ most: 2, total: 4 })
  })

  test('CO39 in a round of mediation as well', async () => {
    const held = heldBack()
    const stands = new Map(five.map(({ name }, index) => [name, contributionJson(`option ${index + 1}`)]))
    const everybody = (request: ModelRequest) =>
      request.session.turn === 1 ? (stands.get(request.session.agent) ?? '') : held.everybody()
    const work = runCollaboration(
      { everybody },
      { agents: five, synthesis: 'merge', on_conflict: 'mediate', limits: { max_parallel: 2 } },
    )
    await drive(work, held.release)
    expect(held.seen).toEqual({ most: 2, total: 5 })
  })
})

describe('who may raise them', () => {
  const six = [...five, { name: 'f' }]

  test('CO40 whoever starts a run may ask for more than the default; a model that calls the tool may only ask for less', async () => {
    const run = await runCollaboration(
      { everybody: contributionJson('go') },
      { agents: six, synthesis: 'merge', limits: { max_agents: 6 } },
    )
    expect(run.output.contributions).toHaveLength(6)
    const input = { task: 'x', agents: six, synthesis: 'merge', limits: { max_agents: 6 } }
    const { troupe } = await createCollaborationTroupe({ lead: caller(input) }, { agents: [lead] })
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(JSON.stringify(result.output)).toContain('6 agents are more than max_agents 5')
    const held = heldBack()
    const eager = caller({ task: 'x', agents: five, synthesis: 'merge', limits: { max_parallel: 5 } })
    const second = await createCollaborationTroupe({ lead: eager, everybody: held.everybody }, { agents: [lead] })
    await drive(second.troupe.run('task', { agent: 'lead', instruction: 'go' }), held.release)
    expect(held.seen).toEqual({ most: 3, total: 5 })
  })

  test('CO40 the time for one agent can be shortened by a model, not lengthened', async () => {
    const timeoutOf = async (agent_timeout: string) => {
      const input = { task: 'x', agents: five.slice(0, 2), synthesis: 'merge', limits: { agent_timeout } }
      const { troupe } = await createCollaborationTroupe(
        { lead: caller(input), everybody: contributionJson('go') },
        { agents: [lead] },
      )
      const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'go' })
      return eventData(await troupe.events(run_id), 'session:open').at(-1)?.agent.timeout_ms
    }
    expect(await timeoutOf('1h')).toBe(300_000)
    expect(await timeoutOf('10s')).toBe(10_000)
  })
})

describe('agent_timeout', () => {
  /** Says the beginning of something and then nothing more. */
  async function* stuck(): AsyncGenerator<ModelChunk> {
    yield { type: 'text', text: 'I had begun' }
    await new Promise(() => {})
  }

  test('CO41 an agent past its time is cut: what it had said is kept and marked timeout, and it has no vote', async () => {
    const world = simulatedWorld(1)
    const { troupe, model } = await createCollaborationTroupe(
      { a: stuck, b: contributionJson('go'), c: contributionJson('go'), coordinator: 'Go.' },
      { engine: { world } },
    )
    const agents = five.slice(0, 3)
    const started = world.now()
    const result = await world.runUntil(
      troupe.run('collaborate', { task: 'x', agents, limits: { agent_timeout: '90s' } }),
    )
    const output = result.output as CollaborateRunOutput
    expect(output.contributions[0]).toMatchObject({
      status: 'timeout',
      response: 'I had begun',
      error: { code: 'timeout' },
    })
    expect(output.consensus).toMatchObject({
      agreement_score: 1,
      supporting: expect.arrayContaining(['specialist (b)']),
    })
    expect(output.metadata).toMatchObject({ status: 'partial', duration_ms: 90_000 })
    expect(world.now() - started).toBe(90_000)
    const asked = JSON.stringify(model.requestsFrom('coordinator')[0]?.messages)
    expect(asked).toContain('## a (specialist) [timeout: cut short]')
    expect(asked).toContain('I had begun')
  })

  test('CO41 the default is 300 s, and an agent’s own shorter limit holds', async () => {
    const world = simulatedWorld(1)
    const quick = agent('quick', { timeout_ms: 5_000 })
    const { troupe } = await createCollaborationTroupe(
      { a: stuck, quick: stuck, c: contributionJson('go') },
      { engine: { world }, agents: [quick] },
    )
    const agents = [{ name: 'a' }, 'quick', { name: 'c' }]
    const result = await world.runUntil(troupe.run('collaborate', { task: 'x', agents, synthesis: 'merge' }))
    const output = result.output as CollaborateRunOutput
    expect(output.contributions.map(({ error }) => error?.message)).toEqual([
      'a did not finish within 300000 ms (timeout_ms)',
      'quick did not finish within 5000 ms (timeout_ms)',
      undefined,
    ])
    expect(output.result).toContain('### a (specialist) [timeout]\n\nI had begun')
  })
})

describe('budget and cancel', () => {
  test('CO42 a limit of the run that keeps some from speaking ends it as budget: what was said is kept', async () => {
    const { troupe, model } = await createCollaborationTroupe({ everybody: contributionJson('go'), coordinator: 'Go.' })
    const input = { task: 'x', agents: five.slice(0, 3), limits: { max_parallel: 1 } }
    const short = await troupe.run('collaborate', input, { limits: { calls: 2 } })
    expect(short).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { code: 'limit_reached' } })
    expect(short.error?.hint).toContain('troupe resume RUN --limit calls=4')
    const { contributions } = short.output as CollaborateRunOutput
    expect(contributions.map(({ status }) => status)).toEqual(['completed', 'completed', 'failed'])
    const done = await (await troupe.resume(short.run_id, { limits: { calls: 10 } })).result
    expect(done).toMatchObject({ status: 'completed', stop_reason: 'completed' })
    expect((done.output as CollaborateRunOutput).contributions.map(({ status }) => status)).toEqual(
      Array(3).fill('completed'),
    )
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c', 'coordinator'])
    expect((done.output as CollaborateRunOutput).metadata.total_tokens).toBe(60)
  })

  test('CO42 nobody is asked after the limit: resumed, each hears what it would have heard', async () => {
    const chain = await createCollaborationTroupe({
      a: contributionJson('one'),
      b: contributionJson('two'),
      c: contributionJson('three'),
    })
    const input = { task: 'x', agents: five.slice(0, 3), mode: 'sequential', synthesis: 'merge' }
    const short = await chain.troupe.run('collaborate', input, { limits: { calls: 1 } })
    expect((short.output as CollaborateRunOutput).contributions).toHaveLength(2)
    const done = await (await chain.troupe.resume(short.run_id, { limits: { calls: 9 } })).result
    expect((done.output as CollaborateRunOutput).contributions).toHaveLength(3)
    expect(lastInstruction(chain.model.requestsFrom('c')[0] as ModelRequest)).toContain('because of two')
  })

  test('CO42 a vote that ran out of budget in its first wave goes on as if it had not, also when strict', async () => {
    const stands = {
      a: contributionJson('go'),
      b: contributionJson('wait'),
      c: contributionJson('stop'),
      d: contributionJson('go'),
      e: contributionJson('go'),
    }
    const embedder = {
      id: 'x',
      threshold: 0.8,
      embed: async (texts: readonly string[]) => texts.map(() => new Float32Array(2)),
    }
    const { troupe } = await createCollaborationTroupe(stands, { embedder, engine: { strict: true } })
    const short = await troupe.run(
      'collaborate',
      { task: 'x', agents: five, synthesis: 'vote' },
      { limits: { calls: 2 } },
    )
    expect(short.stop_reason).toBe('budget')
    const done = await (await troupe.resume(short.run_id, { limits: { calls: 9 } })).result
    expect(done.output).toMatchObject({ vote: { winner: 'go' }, metadata: { status: 'completed' } })
    expect(eventData(await troupe.events(short.run_id), 'step:drift')).toEqual([])
    const solo = { task: 'Name it.', agents: five, solo_first: true, synthesis: 'vote' }
    const alone = await troupe.run('collaborate', solo, { limits: { tokens: 100 } })
    expect((alone.output as CollaborateRunOutput).contributions).toHaveLength(1)
  })

  test('CO42 a limit of the caller’s own, such as its breadth, costs only those for whom there is no room', async () => {
    const input = { task: 'x', agents: five.slice(0, 3), synthesis: 'merge' }
    const options = { agents: [lead], limits: { breadth: 2 } }
    const { troupe } = await createCollaborationTroupe(
      { lead: caller(input), everybody: contributionJson('go') },
      options,
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(result.status).toBe('completed')
    const [post] = eventData(await troupe.events(result.run_id), 'tool:post')
    expect((post?.output as CollaborateRunOutput | undefined)?.contributions.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'failed',
    ])
  })

  test('CO43 cancelled while they work, the run is cancelled and nobody else is asked', async () => {
    const held = heldBack()
    const { troupe, model } = await createCollaborationTroupe({ a: contributionJson('go'), everybody: held.everybody })
    const handle = await troupe.stream('collaborate', { task: 'x', agents: five, limits: { max_parallel: 2 } })
    while (held.seen.total < 2) await flushEventLoop()
    const result = await troupe.cancel(handle.run_id, 'enough')
    expect(result.status).toBe('cancelled')
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c'])
  })
})
