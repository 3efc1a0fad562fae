import { describe, expect, test, vi } from 'vitest'
import { chunkModel, eventData, flushEventLoop, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, storeOf } from '../../test/support/test-troupe.ts'
import type { Event } from '../kernel/event.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import type { SessionHistory } from '../kernel/ports.ts'
import { NO_METADATA } from '../kernel/run-metadata.ts'
import { sessionFrom } from '../kernel/session/session-fold.ts'
import { createLeasedRun, runEndData, sessionEndData, sessionOpenData } from '../testing/store/store-harness.ts'
import { SessionHistoryCache } from './session-history.ts'
import { sessionPorts } from './session-ports.ts'

const helper = agent('helper')

/** A session of three segments in three runs, each with one exchange. */
async function threeSegments() {
  const store = memoryStore()
  const model = chunkModel(({ session }) => textChunks(`answer ${session.turn}`))
  const { troupe, task } = await createTestTroupe({ store, model, agents: [helper] })
  const first = await task('helper', 'one')
  const { session_id } = first.output as { session_id: string }
  const runs = [first.run_id]
  for (const instruction of ['two', 'three']) {
    runs.push((await troupe.run('task', { session_id, instruction })).run_id)
  }
  return { store, troupe, model, session_id, runs, ports: sessionPorts(store) }
}

const texts = (messages: readonly { content: readonly object[] }[]) =>
  messages.flatMap(({ content }) => content.map((part) => ('text' in part ? part.text : '')))

/** Without the set that extensions share. */
const view = ({ fold: { settledRequests: _shared, ...fold }, ...history }: SessionHistory) => ({ ...history, fold })

describe('a session as a chain of segments', () => {
  test('S9 the history of a session is read in order across the runs that hold its segments', async () => {
    const { model, session_id, store, runs, ports } = await threeSegments()
    expect(texts(model.requests[2]?.messages ?? [])).toEqual(['one', 'answer 1', 'two', 'answer 2', 'three'])
    const row = await store.session(session_id)
    expect(row).toMatchObject({ segment: 3, turn_count: 3, text: 'answer 3', run_id: runs[2] })
    expect((await store.segments(session_id)).map(({ run_id }) => run_id)).toEqual(runs)
    const run = {
      id: runs[2] ?? '',
      project: 'default',
      limits: DEFAULT_LIMITS,
      model: undefined,
      metadata: NO_METADATA,
    }
    const history = await ports.claimSession(session_id, run, 'helper')
    expect([history.segment, history.base.run_id]).toEqual([3, runs[2]])
    expect(texts(history.fold.state.messages)).toEqual(['one', 'answer 1', 'two', 'answer 2', 'three', 'answer 3'])
  })

  test('S9 the history up to a base does not include later segments', async () => {
    const { troupe, session_id, runs, ports } = await threeSegments()
    const [open] = eventData(await troupe.events(runs[1] ?? '').all(), 'session:open')
    const base = open?.base
    if (!open || !base) throw new Error('the second segment has a base')
    const history = await ports.readSession(session_id, base)
    expect([history.segment, history.base]).toEqual([1, base])
    expect(texts(sessionFrom(history.fold, session_id, open).messages)).toEqual(['one', 'answer 1'])
  })

  test('S9 two segments in one run are kept apart', async () => {
    const store = memoryStore()
    const model = chunkModel(({ session, messages }) => {
      if (session.agent === 'helper') return textChunks(`answer ${session.turn}`)
      const lastMessage = JSON.stringify(messages.at(-1))
      const session_id = /session_id\\":\\"([^\\]+)/.exec(lastMessage)?.[1]
      if (session.turn === 1) return toolCallChunks({ name: 'task', input: { agent: 'helper', instruction: 'one' } })
      return session.turn === 2
        ? toolCallChunks({ name: 'task', input: { session_id, instruction: 'two' } })
        : textChunks('done')
    })
    const { troupe, task } = await createTestTroupe({ store, model, agents: [agent('lead'), helper] })
    const { run_id } = await task('lead', 'go')
    const opens = eventData(await troupe.events(run_id).all(), 'session:open').filter(
      (open) => open.agent.name === 'helper',
    )
    expect(opens.map(({ segment }) => segment)).toEqual([1, 2])
    const last = model.requests.findLast(({ session }) => session.agent === 'helper')
    expect(texts(last?.messages ?? [])).toEqual(['one', 'answer 1', 'two'])
    const session_id = (await troupe.sessions({ run_id }).all()).find((row) => row.agent === 'helper')?.session_id ?? ''
    const history = await sessionPorts(store).readSession(session_id, opens[1]?.base ?? { run_id, seq: 0 })
    expect(texts(sessionFrom(history.fold, session_id, opens[0] as never).messages)).toEqual(['one', 'answer 1'])
  })

  test('S9 a cached history is extended, even when another process continued the session', async () => {
    const { troupe, store, session_id, runs } = await threeSegments()
    const other = sessionPorts(store)
    const run = {
      id: runs[2] ?? '',
      project: 'default',
      limits: DEFAULT_LIMITS,
      model: undefined,
      metadata: NO_METADATA,
    }
    const before = await other.claimSession(session_id, run, undefined)
    expect(await other.claimSession(session_id, run, undefined)).toEqual(before)
    const fourth = await troupe.run('task', { session_id, instruction: 'four' })
    const claimant = { ...run, id: fourth.run_id }
    const after = await other.claimSession(session_id, claimant, undefined)
    expect(view(after)).toEqual(view(await sessionPorts(store).claimSession(session_id, claimant, undefined)))
    expect(texts(after.fold.state.messages)).toEqual([...texts(before.fold.state.messages), 'four', 'answer 4'])
    expect([after.segment, after.base.run_id, fourth.status]).toEqual([4, fourth.run_id, 'completed'])
    expect(view(await other.readSession(session_id, before.base))).toEqual(view(before))
    expect(await other.readSession(session_id, after.base)).toBe(after)
  })

  test('S13 a chat in one process reads neither segments nor events of its session', async () => {
    const store = memoryStore()
    const reads: string[] = []
    for (const name of ['segments', 'sessionEvents', 'session'] as const) {
      const read = store[name].bind(store) as (...given: unknown[]) => Promise<never>
      Object.assign(store, { [name]: (...given: unknown[]) => reads.push(name) && read(...given) })
    }
    const model = chunkModel(({ session }) => textChunks(`answer ${session.turn}`))
    const { troupe, task } = await createTestTroupe({ store, model, agents: [helper] })
    const { output } = await task('helper', 'one')
    const { session_id } = output as { session_id: string }
    for (const instruction of ['two', 'three', 'four']) await troupe.run('task', { session_id, instruction })
    expect(texts(model.requests[3]?.messages ?? [])).toEqual([
      'one',
      'answer 1',
      'two',
      'answer 2',
      'three',
      'answer 3',
      'four',
    ])
    expect(reads).toEqual([])
  })

  test('S11 the history that a process extends equals the one that another process reads', async () => {
    const { troupe, store, session_id } = await threeSegments()
    const followed = new SessionHistoryCache(store)
    const before = await followed.read(session_id)
    const { run_id } = await troupe.run('task', { session_id, instruction: 'four' })
    followed.recordCommitted(await store.events(run_id))
    const [last] = await store.segments(session_id, { run_id, seq: 3 })
    const events = vi.spyOn(store, 'sessionEvents')
    const after = await followed.read(session_id, last)
    expect(events).not.toHaveBeenCalled()
    expect(view(after)).toEqual(view(await new SessionHistoryCache(store).read(session_id)))
    expect(after.segment).toBe(before.segment + 1)
  })

  test('S11 a segment that a later attempt writes is read from the store, because another process may have begun it', async () => {
    const { troupe, store, session_id } = await threeSegments()
    const followed = new SessionHistoryCache(store)
    await followed.read(session_id)
    const { run_id } = await troupe.run('task', { session_id, instruction: 'four' })
    const [start, attempt, ...rest] = await store.events(run_id)
    // The instruction was committed by another process.
    followed.recordCommitted([start, { ...attempt, seq: 5 }, ...rest.toSpliced(1, 1)] as Event[])
    const [last] = await store.segments(session_id, { run_id, seq: 3 })
    expect(view(await followed.read(session_id, last))).toEqual(
      view(await new SessionHistoryCache(store).read(session_id)),
    )
  })

  test('S9 a history with a segment that never ended is not cached', async () => {
    const store = memoryStore()
    const [one, two] = [await createLeasedRun(store, 'r1'), await createLeasedRun(store, 'r2')]
    await one.append('session:open', sessionOpenData(1), 's1')
    await one.append('run:end', runEndData('failed'))
    await two.append('session:open', sessionOpenData(2), 's1')
    await two.append('session:end', sessionEndData('done'), 's1')
    const ports = sessionPorts(store)
    const run = { id: 'r2', project: 'default', limits: DEFAULT_LIMITS, model: undefined, metadata: NO_METADATA }
    const before = await ports.claimSession('s1', run, undefined)
    await one.append('custom:note', { key: 'late' }, 's1')
    const after = await ports.claimSession('s1', run, undefined)
    expect(after.fold.eventCount).toBe(before.fold.eventCount + 1)
  })

  test('S11 an evicted history is read again and gives the same conversation', async () => {
    const { troupe, store, session_id } = await threeSegments()
    const [bounded, unbounded] = [new SessionHistoryCache(store, 0), new SessionHistoryCache(store)]
    const [first, second] = [await bounded.read(session_id), await unbounded.read(session_id)]
    expect(view(first)).toEqual(view(second))
    await troupe.run('task', { session_id, instruction: 'four' })
    expect(view(await bounded.read(session_id))).toEqual(view(await unbounded.read(session_id)))
    expect(await bounded.read(session_id)).not.toBe(await bounded.read(session_id))
    expect(await unbounded.read(session_id)).toBe(await unbounded.read(session_id))
  })

  test('S11 the memory of cached histories is bounded by their texts, however few events they have', async () => {
    const { troupe, store, session_id } = await threeSegments()
    await troupe.run('task', { session_id, instruction: 'long '.repeat(20_000) })
    const [small, large] = [new SessionHistoryCache(store, 50_000), new SessionHistoryCache(store, 500_000)]
    expect(await small.read(session_id)).not.toBe(await small.read(session_id))
    expect(await large.read(session_id)).toBe(await large.read(session_id))
  })

  test('S10 the result of a session can be read by its id once the session has ended', async () => {
    const released = Promise.withResolvers<void>()
    const model = chunkModel(() => released.promise.then(() => textChunks('here')))
    const { troupe } = await createTestTroupe({ model, agents: [helper] })
    const handle = await troupe.stream('task', { agent: 'helper', instruction: 'go' })
    while (model.requests.length === 0) await flushEventLoop(1)
    const ports = sessionPorts(storeOf(troupe))
    const [row] = await troupe.sessions({ run_id: handle.run_id }).all()
    const id = row?.session_id ?? ''
    expect(await ports.sessionResult(id, 'default')).toBeUndefined()
    released.resolve()
    await handle.result
    expect(await ports.sessionResult(id, 'default')).toMatchObject({ text: 'here', status: 'completed', turn_count: 1 })
    await expect(ports.sessionResult(id, 'other')).rejects.toMatchObject({ code: 'unknown_session' })
    await expect(ports.sessionResult('unknown', 'default')).rejects.toMatchObject({ alternatives: [id] })
  })
})
