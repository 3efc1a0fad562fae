import { expect, test } from 'vitest'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import type { TableQuery } from '../../../kernel/table-query.ts'
import { createLeasedRun, runEndData } from '../../../testing/store/store-harness.ts'
import type { ConsultEventOf } from '../events.ts'
import { consultTables } from '../tables.ts'
import { isSpecialistBusy, readRecords, recordsFromRows } from './load-and-history.ts'

const HOUR = 3_600_000
const NOW = 1_000 * HOUR

type Message = ConsultEventOf<'consult:exchange'>['data']['message_type']

/** The tables of a project, changed by events that were recorded some hours ago. */
async function createScene() {
  const store = memoryStore({ now: () => NOW })
  await store.keepTables([{ pattern: 'consult', projection: consultTables }])
  const writer = await createLeasedRun(store, 'r1')
  const append = async (type: string, data: object, hours: number) => {
    const event = writer.nextEvent(type as never, { key: `${writer.head}`, ...data } as never)
    const outcome = await writer.tryAppend([{ ...event, at: NOW - hours * HOUR }])
    if (!outcome.ok) throw outcome.error
  }
  const exchange = (id: string, message_type: Message, specialist: string, hours: number) => {
    const [from_agent, to_agent] = message_type === 'question' ? ['lead', specialist] : [specialist, 'lead']
    const message = { from_agent, to_agent, message_type, message_content: {}, exchange_number: 1 }
    return append('consult:exchange', { collaboration_id: id, ...message, tokens: {}, cost_usd: null }, hours)
  }
  const context = {
    now: async () => NOW,
    query: async (_key: string, query: TableQuery) =>
      (await store.queryTable({ project: 'default' }, query)).map(({ row }) => row),
  }
  return {
    /** A question to these specialists. */
    async ask(id: string, specialists: string[], hours = 0) {
      const request = { request_type: 'agent_consultation', requesting_agent: 'lead', question: id, context: {} }
      await append('consult:request', { collaboration_id: id, ...request, urgency: 'normal' }, hours)
      for (const specialist of specialists) await exchange(id, 'question', specialist, hours)
    },
    followUp: (id: string, specialist: string) => exchange(id, 'question', specialist, 0),
    reply: (id: string, specialist: string, type: Message) => exchange(id, type, specialist, 0),
    retry: (id: string, agent: string) =>
      append('consult:retried', { collaboration_id: id, agent, exchange_number: 1 }, 0),
    fail: (id: string) => append('consult:failed', { collaboration_id: id, error: { code: 'timeout' } }, 0),
    end: () => append('run:end', runEndData(), 0),
    isBusy: (agent: string, max: number) => isSpecialistBusy(context, { agent, max, key: 'load' }),
    active: async (agent: string) => recordsFromRows(await readRecords(context, 'route')).get(agent)?.active ?? 0,
  }
}

test('CS100 every question that a specialist works on counts, however many newer ones it has answered', async () => {
  const scene = await createScene()
  for (const id of ['a', 'b']) await scene.ask(id, ['coder'])
  for (let count = 0; count < 120; count++) {
    await scene.ask(`later ${count}`, ['coder'])
    await scene.reply(`later ${count}`, 'coder', count % 2 === 0 ? 'response' : 'clarification')
  }
  expect([await scene.isBusy('coder', 2), await scene.isBusy('coder', 3)]).toEqual([true, false])
  expect(await scene.active('coder')).toBe(2)
})

test('CS100 the hour begins with the last question of a consultation', async () => {
  const scene = await createScene()
  await scene.ask('old', ['coder'], 2)
  expect(await scene.isBusy('coder', 1)).toBe(false)
  await scene.followUp('old', 'coder')
  expect(await scene.isBusy('coder', 1)).toBe(true)
})

test('CS100 CS161 a specialist that resume asks again works, also on a question of more than an hour ago', async () => {
  const scene = await createScene()
  await scene.ask('old', ['coder'], 2)
  await scene.fail('old')
  expect(await scene.isBusy('coder', 1)).toBe(false)
  await scene.retry('old', 'coder')
  expect([await scene.isBusy('coder', 1), await scene.active('coder')]).toEqual([true, 1])
})

test('CS100 each of several specialists works on the question until it has answered', async () => {
  const scene = await createScene()
  await scene.ask('both', ['coder', 'critic'])
  const busy = async () => [await scene.isBusy('coder', 1), await scene.isBusy('critic', 1)]
  expect(await busy()).toEqual([true, true])
  await scene.reply('both', 'coder', 'response')
  expect(await busy()).toEqual([false, true])
  await scene.fail('both')
  expect(await busy()).toEqual([false, false])
})

test('CS100 the end of a run ends the work on its questions', async () => {
  const scene = await createScene()
  await scene.ask('a', ['coder'])
  await scene.end()
  expect([await scene.isBusy('coder', 1), await scene.active('coder')]).toEqual([false, 0])
})
