import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { Reply } from '../../../test/support/consultation.ts'
import {
  answerJson,
  asker,
  consultAgents,
  consultCall,
  createConsultTroupe,
  routeTo,
} from '../../../test/support/consultation.ts'
import { lastMessageText } from '../../../test/support/test-troupe.ts'
import type { TroupeOptions } from '../../index.ts'

/* The rows of runs that did not end by themselves, read with plain SQL. */

const QUESTION = 'Which fields are there?'

async function createScene(replies: Record<string, Reply>, options: TroupeOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-consult-rows ü-'))
  const path = join(folder, 'store.db')
  const scene = await createConsultTroupe(replies, { store: path, agents: consultAgents, ...options })
  onTestFinished(async () => {
    await scene.troupe.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const sql = (query: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      return database
        .prepare(query)
        .all()
        .map((row) => ({ ...row }))
    } finally {
      database.close()
    }
  }
  return { ...scene, sql }
}

const STATUS = 'SELECT status, completed_at IS NOT NULL AS completed, escalated FROM agent_collaborations'

/** A specialist that is at work until it is stopped. */
function hangingSpecialist() {
  const asked = Promise.withResolvers<void>()
  const answering: Reply = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  return { answering, asked: asked.promise }
}

test.each([false, true])(
  'CS158 the consultations of a cancelled run have failed (background: %s)',
  async (background) => {
    const { answering, asked } = hangingSpecialist()
    const asking = asker(
      () => [consultCall('Who owns it?')],
      () => [consultCall(QUESTION, { background })],
    )
    const orchestrator: Reply = (request) =>
      routeTo(lastMessageText(request).includes(QUESTION) ? 'answering' : 'checking')
    const { troupe, sql } = await createScene({ asking, answering, orchestrator, checking: answerJson('Us.') })
    await troupe.run('consult', { question: 'Who owns it?' })
    const handle = await troupe.stream('task', { agent: 'asking', instruction: 'go' })
    await asked
    const resolved = { status: 'resolved', completed: 1, escalated: 0 }
    expect(sql(STATUS)).toEqual([resolved, resolved, { status: 'in_progress', completed: 0, escalated: 0 }])
    expect((await handle.cancel()).status).toBe('cancelled')
    expect(sql(STATUS)).toEqual([resolved, resolved, { status: 'failed', completed: 1, escalated: 0 }])
    expect(sql('SELECT count(*) AS outcomes FROM collaboration_outcomes')).toEqual([{ outcomes: 2 }])
  },
)

test('CS158 so has one that waits for a person when its run is cancelled', async () => {
  const { troupe, sql } = await createScene({ answering: answerJson('Perhaps.', { confidence: 0.1 }) })
  const { run_id, status } = await troupe.run('consult', { question: QUESTION })
  expect([status, sql(STATUS)]).toEqual(['waiting', [{ status: 'escalated', completed: 0, escalated: 1 }]])
  await troupe.cancel(run_id)
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 1 }])
})

test('CS159 a fork has rows of its own: it answers what the cancelled run did not', async () => {
  const { answering: hang, asked } = hangingSpecialist()
  let isForked = false
  const answering: Reply = (request) => {
    if (isForked) return answerJson('An id.')
    return typeof hang === 'function' ? hang(request) : hang
  }
  const { troupe, sql, consultEvents } = await createScene({ answering })
  const handle = await troupe.stream('consult', { question: QUESTION })
  await asked
  await handle.cancel()
  const question = (await consultEvents(handle.run_id)).find(({ type }) => type === 'consult:exchange') as
    | { seq?: number }
    | undefined
  isForked = true
  const fork = await (await troupe.fork(handle.run_id, question?.seq ?? 0)).result
  expect(fork.output).toMatchObject({ status: 'resolved', response: { answer: 'An id.' } })
  const rows = sql(`SELECT c.run_id, c.inherited, c.status, c.exchanges, o.resolution_summary,
      (SELECT count(*) FROM collaboration_exchanges AS e WHERE e.collaboration_id = c.id AND e.run_id = c.run_id) AS messages
    FROM agent_collaborations AS c LEFT JOIN collaboration_outcomes AS o ON o.collaboration_id = c.id AND o.run_id = c.run_id
    ORDER BY c.inherited`)
  expect(rows).toEqual([
    {
      ...{ run_id: handle.run_id, inherited: 0, status: 'failed', exchanges: 1, messages: 1 },
      resolution_summary: null,
    },
    {
      ...{ run_id: fork.run_id, inherited: 1, status: 'resolved', exchanges: 1, messages: 2 },
      resolution_summary: 'An id.',
    },
  ])
})
