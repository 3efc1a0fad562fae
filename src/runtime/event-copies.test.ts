import { describe, expect, test } from 'vitest'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'
import type { Event, Troupe } from '../index.ts'

const worker = agent('worker')
const go = { agent: 'worker', instruction: 'go' }
const greeting = () => chunkModel(() => textChunks('hello'))

/** Does everything to an event that a careless reader may do. Returns the errors. */
function vandalize(event: Event): unknown[] {
  const data = event.data as unknown as Record<string, unknown>
  const attempts = [
    () => Object.assign(event, { type: 'other' }),
    () => Object.assign(data, { vandalized: true }),
    ...Object.values(data).map((value) => () => {
      if (Array.isArray(value)) value.push('vandalized')
      else if (typeof value === 'object' && value !== null) Object.assign(value, { vandalized: true })
    }),
  ]
  return attempts.flatMap((attempt) => {
    try {
      attempt()
      return []
    } catch (thrown) {
      return [thrown]
    }
  })
}

const journalOf = async (troupe: Troupe, run_id: string) => JSON.stringify(await troupe.events(run_id).all())

describe('events in the hands of readers', () => {
  test('P49 a hook, a stream and a watcher cannot change events: writing throws, and others see them as they were', async () => {
    const errors: unknown[] = []
    const onEvent = (event: Event) => void errors.push(...vandalize(event))
    const { troupe } = await createTestTroupe({ model: greeting(), agents: [worker], hooks: [{ onEvent }] })
    const handle = await troupe.stream('task', go)
    for await (const item of handle) if ('event' in item) errors.push(...vandalize(item.event))
    const others = troupe.watch(handle.run_id)[Symbol.asyncIterator]()
    for await (const event of troupe.watch(handle.run_id)) {
      errors.push(...vandalize(event))
      expect((await others.next()).value).toEqual(event)
    }
    expect(await journalOf(troupe, handle.run_id)).not.toContain('vandalized')
    expect(errors.length).toBeGreaterThan(30)
    for (const error of errors) expect(error).toBeInstanceOf(TypeError)
    expect(await troupe.verify(handle.run_id)).toMatchObject({ findings: [] })
    await troupe.close()
  })

  test('P49 a list, a row and a result belong to who has asked for them', async () => {
    const model = chunkModel(({ session }) =>
      session.agent === 'worker'
        ? textChunks('hello')
        : toolCallChunks({ name: 'ask_user', input: { question: 'Which?', choices: ['a', 'b'] } }),
    )
    const { troupe } = await createTestTroupe({ model, agents: [worker, agent('asker')] })
    const result = await troupe.run('task', go, { tags: ['one'] })
    const { run_id } = result
    const before = [await journalOf(troupe, run_id), JSON.stringify(await troupe.getRun(run_id))]
    for (const event of await troupe.events(run_id).all()) expect(vandalize(event)).toEqual([])
    Object.assign(result.output as object, { vandalized: true })
    Object.assign((await troupe.result(run_id)).output as object, { vandalized: true })
    const row = await troupe.getRun(run_id)
    Object.assign(row.usage, { calls: 99 })
    Object.assign(row.tags, { 0: 'vandalized' })
    expect([await journalOf(troupe, run_id), JSON.stringify(await troupe.getRun(run_id))]).toEqual(before)

    const waiting = await troupe.run('task', { agent: 'asker', instruction: 'go' })
    const asked = JSON.stringify((await troupe.gates()).items)
    for (const gate of [...waiting.gates, ...(await troupe.gates()).items])
      Object.assign(gate.choices as object, { 0: 'c' })
    expect(JSON.stringify((await troupe.gates()).items)).toBe(asked)
    await troupe.close()
  })
})
