import { expect, test } from 'vitest'
import type { Reply } from '../../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../../test/support/consult-replies.ts'
import { consultResult, createConsultTroupe, deliveredTo } from '../../../../test/support/consultation.ts'

const QUESTION = 'What fields has the user model?'
const askBack = (clarification_needed: string) => ({ text: JSON.stringify({ clarification_needed }) })

/** An asker that replies to everything that it is asked, and asks on when it is answered, `count` times. */
function persistent(count: number): Reply {
  return asker(
    () => [consultCall(QUESTION)],
    ...Array.from({ length: count }, (_, index) => (request: Parameters<typeof consultResult>[0]) => [
      consultCall(`More about point ${index}.`, { collaboration_id: consultResult(request).collaboration_id }),
    ]),
  )
}

async function runWith(replies: Record<string, Reply>, options = {}) {
  const created = await createConsultTroupe(replies, options)
  const run = await created.task('asking', 'Build the page.')
  const events = await created.consultEvents(run.run_id)
  return { ...created, run, events, loops: events.flatMap(({ type, data }) => (type === 'consult:loop' ? data : [])) }
}

test('CS11 a specialist that asks back the same after a reply is replaced by another one', async () => {
  const orchestrator: Reply = ({ messages }) =>
    routeTo(JSON.stringify(messages).includes('- answering:') ? 'answering' : 'checking')
  const { run, loops, model } = await runWith({
    orchestrator,
    asking: persistent(1),
    answering: ({ session }) =>
      askBack(session.turn === 1 ? 'Which version of the API is it?' : 'The API: which version is it?'),
    checking: answerJson('It has an id.'),
  })
  expect(deliveredTo(run)).toMatchObject({ status: 'resolved', consulted_agent: 'checking' })
  expect(loops).toMatchObject([
    {
      loop_type: 'identical_questions',
      resolution: 'continued',
      evidence: [{ specialist_agent: 'answering', question: 'Which version of the API is it?' }, {}],
    },
  ])
  expect(model.requests.filter(({ session }) => session.agent === 'answering')).toHaveLength(2)
})

test('CS11 an asker that asks once more than max_exchanges_per_collaboration gets a person, and the loop is recorded', async () => {
  const options = { consult: { limits: { max_exchanges_per_collaboration: 2 } } }
  const replies = { asking: persistent(2), answering: answerJson('It has an id.') }
  const { run, loops, model } = await runWith(replies, options)
  expect(run.status).toBe('waiting')
  expect(run.gates[0]?.question).toContain('answering was asked 2 times and asking asks once more')
  expect(loops).toMatchObject([{ loop_type: 'iteration_limit', resolution: 'escalated', evidence: [{}, {}] }])
  expect(model.requests.filter(({ session }) => session.agent === 'answering')).toHaveLength(2)
})

test('CS42 a question that is one too many is answered, and only recorded', async () => {
  const subjects = ['the cart', 'the log', 'the mail']
  const { run, loops, events } = await runWith(
    {
      asking: asker(() => subjects.map((subject) => consultCall(`Who owns ${subject}?`))),
      answering: answerJson('It is the team of the shop.'),
    },
    { consult: { limits: { max_active_collaborations_per_agent: 1 } } },
  )
  expect(run.status).toBe('completed')
  expect(events.filter(({ type }) => type === 'consult:resolved').map(({ data }) => data.outcome_type)).toEqual(
    subjects.map(() => 'successful'),
  )
  expect(loops.length).toBeGreaterThan(0)
  for (const loop of loops) expect(loop).toMatchObject({ loop_type: 'too_many_concurrent', resolution: 'continued' })
})
