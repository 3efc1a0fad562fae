import { expect, test } from 'vitest'
import type { Reply } from '../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import { CONSULT_TOOLS, collectCall, consultAgents, createConsultTroupe } from '../../../test/support/consultation.ts'
import { createSqlStore } from '../../../test/support/sql-store.ts'
import type { ModelReply } from '../../../test/support/test-troupe.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { Agent, TroupeOptions } from '../../index.ts'

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
  expect(run).toMatchObject({ status: 'partial', output: { stop_reason: 'max_turns' } })
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 0 }])
  isLater = true
  collaboration_id = String(sql('SELECT id FROM agent_collaborations')[0]?.id)
  const paid = model.requests.length
  await task('asking', 'go')
  expect(sql(STATUS)).toEqual([{ status: 'resolved', completed: 1, escalated: 0 }])
  expect(model.requests.slice(paid).map(({ session }) => session.agent)).toEqual(['asking', 'asking'])
})

/** An agent that goes on when the time of the asker is up. */
const lead: Reply = ({ session }) =>
  session.turn === 1 ? { calls: [{ name: 'task', input: { agent: 'asking', instruction: 'go' } }] } : { text: 'on' }
const agents = [...withAsker({ timeout_ms: 300 }), agent('lead', { tools: ['task'] })]

test('CS26 when the time of the asker is up, its consultation has failed, also if the run goes on without it', async () => {
  const { answering } = hangingSpecialist()
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

test('CS26 so has one in the background, when the time is up while the end of the asker waits for it', async () => {
  const { answering } = hangingSpecialist()
  const asking = asker(() => [consultCall(QUESTION, { background: true })])
  const { task, sql, consultEvents } = await createScene({ asking, answering, lead }, { agents })
  const { status, run_id } = await task('lead', 'go')
  expect(status).toBe('completed')
  const last = (await consultEvents(run_id)).at(-1)
  const message = expect.stringContaining('asking did not finish within 300 ms')
  expect(last).toMatchObject({ type: 'consult:failed', data: { error: { code: 'timeout', message } } })
  expect(sql(STATUS)).toEqual([{ status: 'failed', completed: 1, escalated: 0 }])
})

const noCredit = () => Object.assign(new Error('the account has no credit'), { status: 402 })
const OPEN = "SELECT open FROM collaboration_exchanges WHERE message_type = 'question'"
const WORK =
  'SELECT status, active_run IS NOT NULL AS active, completed_at IS NOT NULL AS completed FROM agent_collaborations'
const FAILED = { status: 'failed', active: 0, completed: 1 }
const AT_WORK = { status: 'in_progress', active: 1, completed: 0 }

/** Only the first specialist can answer. */
const onlyAnswering: Reply = ({ messages }) =>
  JSON.stringify(messages).includes('- answering:') ? routeTo('answering') : routeTo()

/** A specialist that fails while it is down, and then works until it may answer. */
function failingSpecialist(fail: () => Promise<ModelReply>) {
  const state = { isDown: true }
  const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const answering: Reply = async () => {
    if (state.isDown) return fail()
    asked.resolve()
    await mayAnswer.promise
    return answerJson('An id.')
  }
  return { state, answering, asked: asked.promise, mayAnswer }
}

test.each(['at once', 'in the background', 'after the time of the asker'])(
  'CS161 a specialist that resume asks again is at work, and has failed each time that it fails: %s',
  async (how) => {
    const isLate = how === 'after the time of the asker'
    const specialist = failingSpecialist(() => {
      if (!isLate) throw noCredit()
      return new Promise(() => {})
    })
    const background = how === 'in the background'
    const asks = asker(() => [consultCall(QUESTION, { background })], ...(background ? [collectCall] : []))
    const asking: Reply = (request) => {
      const isLast = request.session.turn === (background ? 3 : 2)
      if (specialist.state.isDown && isLast) throw noCredit()
      return typeof asks === 'function' ? asks(request) : asks
    }
    const { troupe, task, sql, consultEvents } = await createScene(
      { asking, answering: specialist.answering, orchestrator: onlyAnswering },
      { agents: withAsker(isLate ? { timeout_ms: 300 } : {}) },
    )
    const { run_id } = await task('asking', 'go')
    expect([sql(WORK), sql(OPEN)]).toEqual([[FAILED], [{ open: 0 }]])
    await (await troupe.resume(run_id)).result
    expect([sql(WORK), sql(OPEN)]).toEqual([[FAILED], [{ open: 0 }]])
    specialist.state.isDown = false
    const handle = await troupe.resume(run_id)
    await specialist.asked
    await expect.poll(() => sql(WORK)).toEqual([AT_WORK])
    expect(sql(OPEN)).toEqual([{ open: 1 }])
    specialist.mayAnswer.resolve()
    expect((await handle.result).status).toBe('completed')
    expect([sql(WORK), sql(OPEN)]).toEqual([[{ ...FAILED, status: 'resolved' }], [{ open: 0 }]])
    const types = (await consultEvents(run_id)).map(({ type }) => type)
    expect(types.filter((type) => type === 'consult:failed')).toHaveLength(2)
    expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  },
)

test('CS158 CS218 the panel and the table say the same about an asker that was down while its specialist worked', async () => {
  const asking: Reply = ({ session }) => {
    if (session.turn === 1) return { calls: [consultCall(QUESTION, { background: true })] }
    throw noCredit()
  }
  const { troupe, task, sql } = await createScene({ asking, answering: answerJson('An id.') })
  const { run_id } = await task('asking', 'go')
  expect(sql(STATUS)).toEqual([{ status: 'in_progress', completed: 0, escalated: 0 }])
  const { panels } = await troupe.panels(run_id)
  const [table] = panels.find(({ id }) => id === 'consultations')?.blocks ?? []
  expect(table).toMatchObject({ kind: 'table', rows: [{ status: 'in_progress' }] })
})

test('CS161 a question that a later run collects is not open any more', async () => {
  let collaboration_id = ''
  const asking: Reply = ({ session }) => {
    const collect = { name: 'consult_result', input: { collaboration_id } }
    if (session.turn === 1)
      return { calls: [collaboration_id === '' ? consultCall(QUESTION, { background: true }) : collect] }
    if (collaboration_id === '') throw noCredit()
    return { text: 'ok' }
  }
  const { task, sql } = await createScene({ asking, answering: answerJson('An id.') })
  await task('asking', 'go')
  expect(sql(OPEN)).toEqual([{ open: 1 }])
  collaboration_id = String(sql('SELECT id FROM agent_collaborations')[0]?.id)
  await task('asking', 'go')
  expect([sql(STATUS), sql(OPEN)]).toEqual([[{ status: 'resolved', completed: 1, escalated: 0 }], [{ open: 0 }]])
})

test('CS162 CS156 an answer for which the asker did not wait is no failure of the specialist', async () => {
  const prompts: string[] = []
  const orchestrator: Reply = (request) => {
    prompts.push(JSON.stringify(request.messages))
    return routeTo('answering')
  }
  const asking: Reply = () => ({ calls: [consultCall(QUESTION, { background: true })] })
  const { task, troupe, sql } = await createScene(
    { asking, answering: answerJson('An id.'), orchestrator },
    { agents: withAsker({ max_turns: 1 }) },
  )
  await task('asking', 'go')
  expect(sql('SELECT status, abandoned FROM agent_collaborations')).toEqual([{ status: 'failed', abandoned: 1 }])
  const [report] = await troupe.reports({ pattern: 'consult' })
  expect(report?.total.figures).toMatchObject({ consultations: 1, success_rate: null })
  await troupe.run('consult', { question: 'Who waters the plants?' })
  expect(prompts[1]).not.toContain('0 of 1 resolved')
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
