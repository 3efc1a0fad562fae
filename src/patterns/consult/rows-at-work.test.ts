import { describe, expect, test } from 'vitest'
import { createSqlStore } from '../../../test/support/sql-store.ts'
import type { RunEnd } from '../../kernel/event.ts'
import { openSqlite } from '../../store/sqlite.ts'
import { createLeasedRun, runEndData } from '../../testing/store/store-harness.ts'
import { consultTables } from './tables.ts'

/* The run that works on a consultation, after each event, read with plain SQL. */

const request = {
  ...{ request_type: 'agent_consultation', requesting_agent: 'asking', question: 'Q?', context: {} },
  urgency: 'normal',
}
const routed = {
  ...{ agent: 'answering', consultation_reason: 'r', rationale: 'r', method: 'model', hint: 'none' },
  ...{ session_id: 's', tokens: 0, cost_usd: 0 },
}
const message = { exchange_number: 1, message_content: {}, tokens: {}, cost_usd: 0 }
const question = { ...message, from_agent: 'asking', to_agent: 'answering', message_type: 'question' }
const reply = { ...message, from_agent: 'answering', to_agent: 'asking' }
const outage = { code: 'model_failed', message: 'the provider was down' }
const resolved = { outcome_type: 'successful', resolution_summary: 's' }

async function createScene() {
  const { path, sql } = createSqlStore(() => store.close())
  const store = await openSqlite(path)
  await store.keepTables([{ pattern: 'consult', projection: consultTables }])
  const writers = new Map<string, Awaited<ReturnType<typeof createLeasedRun>>>()
  const writerOf = async (run: string) => {
    const writer = writers.get(run) ?? (await createLeasedRun(store, run))
    writers.set(run, writer)
    return writer
  }
  const record = async (run: string, type: string, data: object) => {
    const writer = await writerOf(run)
    const event = { key: `${type}-${writer.head}`, collaboration_id: 'c1', ...data }
    return writer.append(type as never, event as never)
  }
  return {
    record,
    /** A specialist works on a question of the first run. */
    async ask() {
      await record('first', 'consult:request', request)
      await record('first', 'consult:routed', routed)
      await record('first', 'consult:exchange', question)
    },
    end: async (run: string, more: Partial<RunEnd> = {}) =>
      (await writerOf(run)).append('run:end', { ...runEndData(), ...more }),
    row: () => sql('SELECT status, active_run, completed_at IS NOT NULL AS completed FROM agent_collaborations')[0],
    open: () => sql("SELECT open FROM collaboration_exchanges WHERE message_type = 'question'").map((row) => row.open),
    abandoned: () => sql('SELECT abandoned FROM agent_collaborations')[0]?.abandoned,
  }
}

const atWork = { status: 'in_progress', active_run: 'first', completed: 0 }

describe('the events of a consultation', () => {
  test.each([
    ['consult:routed', routed, { status: 'routed', active_run: 'later', completed: 0 }],
    [
      'consult:escalated',
      { reason: 'loop', root_cause: 'x' },
      { status: 'escalated', active_run: 'later', completed: 0 },
    ],
    ['consult:resolved', resolved, { status: 'resolved', active_run: null, completed: 1 }],
    ['consult:failed', { error: outage }, { status: 'failed', active_run: null, completed: 1 }],
    [
      'consult:timeout',
      { agent: 'answering', deadline_ms: 1, partial: '' },
      { status: 'timeout', active_run: null, completed: 1 },
    ],
    [
      'consult:exchange',
      { ...reply, message_type: 'clarification' },
      { status: 'in_progress', active_run: null, completed: 0 },
    ],
    ['consult:exchange', { ...reply, message_type: 'response' }, atWork],
  ])(
    'CS161 after %s of a later run nobody works on the question, and `active_run` follows',
    async (type, data, row) => {
      const scene = await createScene()
      await scene.ask()
      expect([scene.row(), scene.open()]).toEqual([atWork, [1]])
      await scene.record('later', type, data)
      expect([scene.row(), scene.open()]).toEqual([row, [0]])
    },
  )

  test('CS161 a request and a question are worked on by their run', async () => {
    const scene = await createScene()
    await scene.record('first', 'consult:request', request)
    expect(scene.row()).toEqual({ status: 'pending', active_run: 'first', completed: 0 })
    await scene.record('first', 'consult:exchange', { ...reply, message_type: 'clarification' })
    await scene.record('later', 'consult:exchange', { ...question, exchange_number: 2 })
    expect([scene.row(), scene.open()]).toEqual([{ ...atWork, active_run: 'later' }, [1]])
  })

  test('CS161 what failed is at work again after consult:retried, and only that question', async () => {
    const scene = await createScene()
    await scene.ask()
    await scene.record('first', 'consult:exchange', { ...question, to_agent: 'checking' })
    await scene.record('first', 'consult:failed', { error: outage })
    expect(scene.open()).toEqual([0, 0])
    await scene.record('first', 'consult:retried', { agent: 'answering', exchange_number: 1 })
    expect([scene.row(), scene.open()]).toEqual([atWork, [1, 0]])
  })
})

describe('the end of a run', () => {
  test.each([
    { status: 'completed' as const, error: null },
    { status: 'cancelled' as const, error: null },
    { status: 'failed' as const, error: { code: 'timeout', message: 'too slow' } as RunEnd['error'] },
  ])('CS158 fails what it worked on ($status)', async (end) => {
    const scene = await createScene()
    await scene.ask()
    await scene.end('first', end)
    expect([scene.row(), scene.open()]).toEqual([{ status: 'failed', active_run: null, completed: 1 }, [0]])
    expect(scene.abandoned()).toBe(1)
  })

  test.each(['model_failed', 'limit_reached'])('CS158 with %s leaves it to resume', async (code) => {
    const scene = await createScene()
    await scene.ask()
    await scene.end('first', { status: 'failed', error: { ...outage, code } as RunEnd['error'] })
    expect([scene.row(), scene.open()]).toEqual([atWork, [1]])
  })

  const askedBack = { status: 'in_progress', active_run: null, completed: 0 }
  test.each([
    [{ status: 'completed' as const }, askedBack],
    [{ status: 'cancelled' as const }, { status: 'failed', active_run: null, completed: 1 }],
  ])('CS158 $status: a specialist that asked back waits, unless nobody will reply', async (end, row) => {
    const scene = await createScene()
    await scene.ask()
    await scene.record('first', 'consult:exchange', { ...reply, message_type: 'clarification' })
    await scene.end('first', end)
    expect(scene.row()).toEqual(row)
  })

  test('CS158 leaves alone what another run works on', async () => {
    const scene = await createScene()
    await scene.ask()
    await scene.record('first', 'consult:exchange', { ...reply, message_type: 'clarification' })
    await scene.record('later', 'consult:exchange', { ...question, exchange_number: 2 })
    await scene.end('first', { status: 'cancelled' })
    expect([scene.row(), scene.open()]).toEqual([{ ...atWork, active_run: 'later' }, [0, 1]])
  })
})
