import { expect, test } from 'vitest'
import type { Reply } from '../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall } from '../../../test/support/consult-replies.ts'
import { collectCall, consultResult, createConsultTroupe, deliveredTo } from '../../../test/support/consultation.ts'
import { verifyJournal } from '../../audit/verify-journal.ts'

/* The tables stay exact when an answer is collected again, a consultation goes on, or many wait at once. */

const collect: (rating?: number) => Reply = (rating) => {
  let id = ''
  const call = (name: string, more = {}) => [{ name, input: { collaboration_id: id, ...more } }]
  return asker(
    () => [consultCall('What fields has it?', { background: true })],
    (request) => {
      id = consultResult(request).collaboration_id
      return call('consult_result')
    },
    () => call('rate_consultation', { rating }),
    () => call('consult_result'),
  )
}

test('CS52 CS154 an answer in the background is paid and recorded once, however often it is collected', async () => {
  const { troupe, task } = await createConsultTroupe({ asking: collect(2), answering: answerJson('id') })
  const again = deliveredTo(await task('asking', 'go'))
  expect(again).toMatchObject({ status: 'resolved', consulted_agent: 'answering', response: { answer: 'id' } })
  const [row] = await troupe.query({ table: 'agent_collaborations' }).all()
  // The model of the tests uses 10 tokens for each request and 5 for each response.
  expect(row).toMatchObject({ request_tokens: 10, routing_tokens: 15, response_tokens: 5, unpriced_tokens: 30 })
  const exchanges = await troupe.query({ table: 'collaboration_exchanges' }).all()
  expect(exchanges.map(({ message_type }) => message_type)).toEqual(['question', 'response'])
  expect(await troupe.query({ table: 'collaboration_outcomes' }).all()).toMatchObject([{ success_rating: 2 }])
})

test('CS52 a clarification that was collected is told again', async () => {
  const asking = asker(() => [consultCall('What fields has it?', { background: true })], collectCall, collectCall)
  const answering = { text: JSON.stringify({ clarification_needed: 'Which version?' }) }
  const { troupe, task } = await createConsultTroupe({ asking, answering })
  const again = deliveredTo(await task('asking', 'go'))
  expect(again).toMatchObject({ status: 'in_progress', clarification_needed: 'Which version?', response: null })
  expect(await troupe.query({ table: 'collaboration_exchanges' }).all()).toHaveLength(2)
})

test('CS61 a replay is the same after later consultations changed the tables; deleting a run deletes its rows', async () => {
  const { troupe } = await createConsultTroupe({ answering: answerJson('id') })
  const { run_id } = await troupe.run('consult', { question: 'What fields has it?', as: 'asking' })
  for (const topic of ['roles', 'groups', 'owners'])
    await troupe.run('consult', { question: `What are ${topic}?`, as: 'asking' })
  expect(await troupe.replay(run_id)).toMatchObject({ same: true, differences: [] })
  await troupe.deleteRuns([run_id])
  for (const table of ['agent_collaborations', 'collaboration_outcomes'])
    expect(await troupe.query({ table }).all()).toHaveLength(3)
})

test('CS152 a follow-up in a later run changes the outcome and keeps its rating', async () => {
  const answering: Reply = ({ session }) => answerJson(session.turn === 1 ? 'id' : 'id and name')
  const { troupe } = await createConsultTroupe({ answering })
  const { output } = await troupe.run('consult', { question: 'What fields has it?' })
  const collaboration_id = output?.collaboration_id ?? ''
  await troupe.run('rate_consultation', { collaboration_id, rating: 4 })
  const followUp = await troupe.run('consult', { question: 'Is that all?', collaboration_id })
  expect(followUp.output?.response?.answer).toBe('id and name')
  expect(await troupe.query({ table: 'collaboration_outcomes' }).all()).toMatchObject([
    { collaboration_id, resolution_summary: 'id and name', success_rating: 4 },
  ])
  const [report] = await troupe.reports({ pattern: 'consult' })
  expect(report?.total.figures).toMatchObject({ consultations: 1, rating: 4 })
})

test('CS42 CS215 S20 two hundred consultations at once: three at work, the most urgent first, all resolved, and little is recorded for each', async () => {
  const urgencies = ['low', 'normal', 'high', 'critical']
  const questions = Array.from({ length: 200 }, (_, index) =>
    consultCall(`Topic ${index} of ${'many '.repeat(20)}?`, { urgency: urgencies[index % 4] }),
  )
  let active = 0
  let most = 0
  const order: string[] = []
  const answering: Reply = async ({ messages }) => {
    most = Math.max(most, ++active)
    await new Promise((resolve) => setImmediate(resolve))
    active -= 1
    order.push(urgencies[Number(/Topic (\d+)/.exec(JSON.stringify(messages))?.[1]) % 4] ?? '')
    return answerJson('id')
  }
  const limits = { calls: 1000, tokens: 10_000_000 }
  const { troupe, task } = await createConsultTroupe({ asking: asker(() => questions), answering }, { limits })
  const run = await task('asking', 'go')
  expect(run.status).toBe('completed')
  const rows = await troupe.query({ table: 'agent_collaborations', limit: 1000 }).all()
  expect(rows.filter(({ status }) => status === 'resolved')).toHaveLength(200)
  expect(most).toBe(3)
  const lastOf = (urgency: string) => order.lastIndexOf(urgency)
  expect(order.indexOf('low')).toBeGreaterThan(-1)
  expect(lastOf('critical')).toBeLessThan(lastOf('low'))
  const journal = await troupe.events(run.run_id).all()
  expect(verifyJournal(journal)).toEqual([])
  const recorded = journal.flatMap((event) => (event.type === 'step:end' ? JSON.stringify(event).length : []))
  expect(Math.max(...recorded)).toBeLessThan(20_000)
})
