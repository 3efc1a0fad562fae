import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  lastInstruction,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { eventData, flushEventLoop, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, lastMessageText, runToEnd } from '../../../test/support/test-troupe.ts'
import type { ModelChunk, ModelRequest } from '../../entries/models.ts'
import { simulatedWorld } from '../../testing/index.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name }))
const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
const textReply = (text: string): ModelChunk[] => [
  { type: 'text', text },
  { type: 'finish', stop: 'end', usage },
]

/** Replies that wait for `release`; `most` is the highest number of requests in flight. */
function blockedReplies() {
  const waiting: (() => void)[] = []
  const seen = { most: 0, total: 0 }
  const everybody = async () => {
    const turn = Promise.withResolvers<void>()
    waiting.push(turn.resolve)
    seen.total += 1
    seen.most = Math.max(seen.most, waiting.length)
    await turn.promise
    return textReply(contributionJson('go'))
  }
  return { seen, everybody, release: () => waiting.shift()?.() }
}

async function releaseUntilDone<T>(work: Promise<T>, release: () => void): Promise<T> {
  let finished = false
  const done = () => {
    finished = true
  }
  work.then(done, done)
  while (!finished) {
    await flushEventLoop()
    release()
  }
  return work
}

/** A lead that calls the tool once and repeats its result. */
const callOnce =
  (input: object): AgentReplies[string] =>
  (request: ModelRequest) =>
    request.session.turn === 1 ? toolCallChunks({ name: 'collaborate', input }) : lastMessageText(request)
const lead = agent('lead', { tools: ['collaborate'] })

describe('max_parallel', () => {
  test('CO39 at most max_parallel requests are in flight, in parallel and hierarchical mode', async () => {
    for (const [limits, most] of [
      [{}, 3],
      [{ max_parallel: 2 }, 2],
      [{ max_parallel: 5 }, 5],
    ] as const) {
      const blocked = blockedReplies()
      const work = runCollaboration({ everybody: blocked.everybody }, { agents: five, synthesis: 'merge', limits })
      const { output } = await releaseUntilDone(work, blocked.release)
      expect(output.contributions).toHaveLength(5)
      expect(blocked.seen).toEqual({ most, total: 5 })
    }
    const blocked = blockedReplies()
    const plan = { plan: 'p', assignments: ['b', 'c', 'd', 'e'].map((name) => ({ agent: name, subtask: 'x' })) }
    const replies = {
      a: (request: ModelRequest) => (request.output ? JSON.stringify(plan) : 'done'),
      everybody: blocked.everybody,
    }
    await releaseUntilDone(
      runCollaboration(replies, { agents: five, mode: 'hierarchical', limits: { max_parallel: 2 } }),
      blocked.release,
    )
    expect(blocked.seen).toEqual({ most: 2, total: 4 })
  })

  test('CO39 max_parallel applies to the mediation round', async () => {
    const blocked = blockedReplies()
    const positions = new Map(five.map(({ name }, index) => [name, contributionJson(`option ${index + 1}`)]))
    const everybody = (request: ModelRequest) =>
      request.session.turn === 1 ? (positions.get(request.session.agent) ?? '') : blocked.everybody()
    const work = runCollaboration(
      { everybody },
      { agents: five, synthesis: 'merge', on_conflict: 'mediate', limits: { max_parallel: 2 } },
    )
    await releaseUntilDone(work, blocked.release)
    expect(blocked.seen).toEqual({ most: 2, total: 5 })
  })
})

describe('raising limits', () => {
  const six = [...five, { name: 'f' }]

  test('CO40 the starter of a run can raise limits, a model that calls the tool cannot', async () => {
    const run = await runCollaboration(
      { everybody: contributionJson('go') },
      { agents: six, synthesis: 'merge', limits: { max_agents: 6 } },
    )
    expect(run.output.contributions).toHaveLength(6)
    const input = { task: 'x', agents: six, synthesis: 'merge', limits: { max_agents: 6 } }
    const { troupe } = await createCollaborationTroupe({ lead: callOnce(input) }, { agents: [lead] })
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(JSON.stringify(result.output)).toContain('has 6 entries, but `limits.max_agents` is 5')
    const blocked = blockedReplies()
    const raising = callOnce({ task: 'x', agents: five, synthesis: 'merge', limits: { max_parallel: 5 } })
    const second = await createCollaborationTroupe({ lead: raising, everybody: blocked.everybody }, { agents: [lead] })
    await releaseUntilDone(second.troupe.run('task', { agent: 'lead', instruction: 'go' }), blocked.release)
    expect(blocked.seen).toEqual({ most: 3, total: 5 })
  })

  test('CO40 a model can shorten agent_timeout, not lengthen it', async () => {
    const timeoutFor = async (agent_timeout: string) => {
      const input = { task: 'x', agents: five.slice(0, 2), synthesis: 'merge', limits: { agent_timeout } }
      const { troupe } = await createCollaborationTroupe(
        { lead: callOnce(input), everybody: contributionJson('go') },
        { agents: [lead] },
      )
      const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'go' })
      return eventData(await troupe.events(run_id).all(), 'session:open').at(-1)?.agent.timeout_ms
    }
    expect(await timeoutFor('1h')).toBe(300_000)
    expect(await timeoutFor('10s')).toBe(10_000)
  })
})

describe('agent_timeout', () => {
  /** A stream that stops after its first chunk. */
  async function* stuck(): AsyncGenerator<ModelChunk> {
    yield { type: 'text', text: 'partial answer' }
    await new Promise(() => {})
  }

  test('CO41 after agent_timeout the partial answer is kept with status timeout and has no vote', async () => {
    const world = simulatedWorld(1)
    const { troupe, model } = await createCollaborationTroupe(
      { a: stuck, b: contributionJson('go'), c: contributionJson('go'), coordinator: 'Go.' },
      { engine: { world } },
    )
    const agents = five.slice(0, 3)
    const started = world.now()
    const result = await world.runUntil(
      troupe.run('collaborate' as string, { task: 'x', agents, limits: { agent_timeout: '90s' } }),
    )
    const output = result.output as CollaborateRunOutput
    expect(output.contributions[0]).toMatchObject({
      status: 'timeout',
      response: 'partial answer',
      error: { code: 'timeout' },
    })
    expect(output.consensus).toMatchObject({
      agreement_score: 1,
      supporting: expect.arrayContaining(['specialist (b)']),
    })
    expect(output.metadata).toMatchObject({ status: 'partial', duration_ms: 90_000 })
    expect(world.now() - started).toBe(90_000)
    const prompt = JSON.stringify(model.requestsFrom('coordinator')[0]?.messages)
    expect(prompt).toContain('\\"agent\\":\\"a\\",\\"role\\":\\"specialist\\",\\"incomplete\\":\\"timeout\\"')
    expect(prompt).toContain('partial answer')
  })

  test('CO41 the default is 300 s, and a shorter timeout of the agent applies', async () => {
    const world = simulatedWorld(1)
    const quick = agent('quick', { timeout_ms: 5_000 })
    const { troupe } = await createCollaborationTroupe(
      { a: stuck, quick: stuck, c: contributionJson('go') },
      { engine: { world }, agents: [quick] },
    )
    const agents = [{ name: 'a' }, 'quick', { name: 'c' }]
    const input = { task: 'x', agents, synthesis: 'merge', quorum: 0.3 }
    const result = await world.runUntil(troupe.run('collaborate' as string, input))
    const output = result.output as CollaborateRunOutput
    expect(output.contributions.map(({ error }) => error?.message)).toEqual([
      'a did not finish within 300000 ms (timeout_ms)',
      'quick did not finish within 5000 ms (timeout_ms)',
      undefined,
    ])
    expect(output.result).toContain('### a (specialist) [timeout]\n\npartial answer')
  })
})

describe('budget and cancel', () => {
  test('CO42 a limit of the run ends it with stop_reason budget and keeps the contributions', async () => {
    const { troupe, model } = await createCollaborationTroupe({ everybody: contributionJson('go'), coordinator: 'Go.' })
    const input = { task: 'x', agents: five.slice(0, 3), limits: { max_parallel: 1 } }
    const limited = await runToEnd(troupe, 'collaborate' as string, input, { limits: { calls: 2 } })
    expect(limited).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { code: 'limit_reached' } })
    expect(limited.error?.hint).toContain('troupe resume RUN --limit calls=4')
    const { contributions } = limited.output as CollaborateRunOutput
    expect(contributions.map(({ status }) => status)).toEqual(['completed', 'completed', 'failed'])
    const done = await (await troupe.resume(limited.run_id, { limits: { calls: 10 } })).result
    expect(done).toMatchObject({ status: 'completed', stop_reason: 'completed' })
    expect((done.output as CollaborateRunOutput).contributions.map(({ status }) => status)).toEqual(
      Array(3).fill('completed'),
    )
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c', 'coordinator'])
    expect((done.output as CollaborateRunOutput).metadata.total_tokens).toBe(60)
  })

  test('CO42 no agent is asked after a limit; resumed, each gets its full context', async () => {
    const chain = await createCollaborationTroupe({
      a: contributionJson('one'),
      b: contributionJson('two'),
      c: contributionJson('three'),
    })
    const input = { task: 'x', agents: five.slice(0, 3), mode: 'sequential', synthesis: 'merge' }
    const limited = await runToEnd(chain.troupe, 'collaborate' as string, input, { limits: { calls: 1 } })
    expect((limited.output as CollaborateRunOutput).contributions).toHaveLength(2)
    const done = await (await chain.troupe.resume(limited.run_id, { limits: { calls: 9 } })).result
    expect((done.output as CollaborateRunOutput).contributions).toHaveLength(3)
    expect(lastInstruction(chain.model.requestsFrom('c')[0] as ModelRequest)).toContain('because of two')
  })

  test('CO42 a vote resumes after a limit in its first wave, even with engine.strict', async () => {
    const positions = {
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
    const { troupe } = await createCollaborationTroupe(positions, { embedder, engine: { strict: true } })
    const limited = await runToEnd(
      troupe,
      'collaborate' as string,
      { task: 'x', agents: five, synthesis: 'vote' },
      { limits: { calls: 2 } },
    )
    expect(limited.stop_reason).toBe('budget')
    const done = await (await troupe.resume(limited.run_id, { limits: { calls: 9 } })).result
    expect(done.output).toMatchObject({ vote: { winner: 'go' }, metadata: { status: 'completed' } })
    expect(eventData(await troupe.events(limited.run_id).all(), 'step:drift')).toEqual([])
  })

  test('CO42 limits.breadth of the caller fails only the agents beyond it', async () => {
    const input = { task: 'x', agents: five.slice(0, 3), synthesis: 'merge' }
    const options = { agents: [lead], limits: { breadth: 2 } }
    const { troupe } = await createCollaborationTroupe(
      { lead: callOnce(input), everybody: contributionJson('go') },
      options,
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(result.status).toBe('completed')
    const [post] = eventData(await troupe.events(result.run_id).all(), 'tool:post')
    expect((post?.output as CollaborateRunOutput | undefined)?.contributions.map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'failed',
    ])
  })

  test('CO43 a cancelled collaboration asks no further agent', async () => {
    const blocked = blockedReplies()
    const { troupe, model } = await createCollaborationTroupe({
      a: contributionJson('go'),
      everybody: blocked.everybody,
    })
    const handle = await troupe.stream('collaborate' as string, {
      task: 'x',
      agents: five,
      limits: { max_parallel: 2 },
    })
    while (blocked.seen.total < 2) await flushEventLoop()
    const result = await troupe.cancel(handle.run_id, 'enough')
    expect(result.status).toBe('cancelled')
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c'])
    const { contributions } = result.output as CollaborateRunOutput
    expect(contributions.map(({ agent, status }) => `${agent} ${status}`).slice(0, 2)).toEqual([
      'a completed',
      'b failed',
    ])
  })

  test('CO43 a collaboration cancelled while a person decides keeps its contributions', async () => {
    const replies = { a: contributionJson('go'), b: contributionJson('wait') }
    const { troupe } = await createCollaborationTroupe(replies)
    const agents = ['a', 'b'].map((name) => ({ name, role: name }))
    const input = { task: 'x', agents, synthesis: 'vote', categories: ['go', 'wait'], on_conflict: 'escalate' }
    const waiting = await troupe.run('collaborate' as string, input)
    expect(waiting.status).toBe('waiting')
    const result = await troupe.cancel(waiting.run_id)
    const { contributions } = result.output as CollaborateRunOutput
    expect(contributions.map(({ recommendation }) => recommendation)).toEqual(['go', 'wait'])
  })
})
