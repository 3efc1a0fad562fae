import { expect, test } from 'vitest'
import type { Reply } from '../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import { CONSULT_TOOLS, consultAgents, createConsultTroupe } from '../../../test/support/consultation.ts'
import { createSqlStore } from '../../../test/support/sql-store.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Agent, TroupeOptions } from '../../index.ts'
import { verifyJournal } from '../../index.ts'

/* The rows of consultations that a run did not finish, read with plain SQL. */

const QUESTION = 'Which fields are there?'

async function createScene(replies: Record<string, Reply>, options: TroupeOptions = {}) {
  const { path, sql } = createSqlStore(() => scene.troupe.close())
  const scene = await createConsultTroupe(replies, { store: path, ...options })
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

test('CS158 a follow-up of a later run that is cancelled has failed; a reply that the specialist waits for has not', async () => {
  const { answering: hang, asked } = hangingSpecialist()
  const answering: Reply = (request) => {
    if (request.session.turn === 1) return { text: '{"clarification_needed":"Of which table?"}' }
    return typeof hang === 'function' ? hang(request) : hang
  }
  const { troupe, sql } = await createScene({ answering })
  const { output, run_id } = await troupe.run('consult', { question: QUESTION })
  const waiting = { status: 'in_progress', completed: 0, escalated: 0 }
  expect(sql(STATUS)).toEqual([waiting])
  const { collaboration_id } = output ?? {}
  const handle = await troupe.stream('consult', { question: 'Of users.', collaboration_id })
  await asked
  expect(sql('SELECT run_id, status, active_run FROM agent_collaborations')).toEqual([
    { run_id, status: 'in_progress', active_run: handle.run_id },
  ])
  await handle.cancel()
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 0 }])
  expect(sql('SELECT sum(open) AS open FROM collaboration_exchanges')).toEqual([{ open: 0 }])
})

/** The agents, with another one that asks. */
const withAsker = (more: Partial<Agent>) => [
  ...consultAgents.filter(({ name }) => name !== 'asking'),
  agent('asking', { tools: CONSULT_TOOLS, ...more }),
]

test('CS158 CS160 what an asker does not collect has failed when its run ends, and a later run of it gets the answer', async () => {
  let collaboration_id = ''
  let isLater = false
  const asking: Reply = ({ session }) => {
    if (session.turn > 1) return { text: 'The fields are open.' }
    const collect = { name: 'consult_result', input: { collaboration_id } }
    return { calls: [isLater ? collect : consultCall(QUESTION, { background: true })] }
  }
  const { task, sql, model } = await createScene(
    { asking, answering: answerJson('An id.') },
    { agents: withAsker({ max_turns: 1 }) },
  )
  const run = await task('asking', 'go')
  expect(run).toMatchObject({ status: 'completed', output: { stop_reason: 'max_turns' } })
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 0 }])
  isLater = true
  collaboration_id = String(sql('SELECT id FROM agent_collaborations')[0]?.id)
  const paid = model.requests.length
  await task('asking', 'go')
  expect(sql(STATUS)).toEqual([{ status: 'resolved', completed: 1, escalated: 0 }])
  expect(model.requests.slice(paid).map(({ session }) => session.agent)).toEqual(['asking', 'asking'])
})

test('CS26 when the time of the asker is up, its consultation has failed, also if the run goes on without it', async () => {
  const { answering } = hangingSpecialist()
  const lead: Reply = ({ session }) =>
    session.turn === 1 ? { calls: [{ name: 'task', input: { agent: 'asking', instruction: 'go' } }] } : { text: 'on' }
  const agents = [...withAsker({ timeout_ms: 300 }), agent('lead', { tools: ['task'] })]
  const { troupe, task, sql, consultEvents } = await createScene(
    { asking: asker(() => [consultCall(QUESTION)]), answering, lead },
    { agents },
  )
  const run = await task('lead', 'go')
  expect(run.status).toBe('completed')
  const failed = (await consultEvents(run.run_id)).find(({ type }) => type === 'consult:failed')
  expect(failed?.data.error).toMatchObject({ code: 'timeout' })
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 0 }])
  expect(await troupe.replay(run.run_id)).toMatchObject({ same: true })
  expect(verifyJournal(await troupe.events(run.run_id).all())).toEqual([])
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
