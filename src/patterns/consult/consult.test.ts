import { describe, expect, test } from 'vitest'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import { consultResult, createConsultTroupe, deliveredTo } from '../../../test/support/consultation.ts'

const question = 'What fields has the User model?'
const ask = asker(() => [consultCall(question)])
const more = {
  additional_context: 'preferences is JSON',
  code_reference: 'models/user.py lines 15-42',
  suggested_next_steps: ['Show the username'],
}
const backend = answerJson('id, username and email', more)

describe('a consultation', () => {
  test('CS1 a question goes through the orchestrator to a specialist, and its answer comes back', async () => {
    const replies = { asking: ask, answering: backend }
    const { task, consultEvents, model } = await createConsultTroupe(replies)
    const run = await task('asking', 'Build the profile page.')
    const { suggested_next_steps, ...context } = more
    expect(deliveredTo(run)).toEqual({
      collaboration_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/),
      status: 'resolved',
      consulted_agent: 'answering',
      response: { answer: 'id, username and email', ...context },
      suggested_next_steps,
      confidence: 0.9,
      source: 'specialist',
    })
    const events = await consultEvents(run.run_id)
    expect(events.map(({ type, data }) => [type, data.message_type].filter(Boolean).join(' '))).toEqual([
      ...['consult:request', 'consult:routed', 'consult:package', 'consult:exchange question'],
      ...['consult:exchange response', 'consult:response', 'consult:resolved'],
    ])
    expect(events[0]?.data).toMatchObject({ request_type: 'agent_consultation', question, urgency: 'normal' })
    expect(new Set(events.map(({ data }) => data.collaboration_id))).toEqual(
      new Set([deliveredTo(run).collaboration_id]),
    )
    // The asker twice, the orchestrator, the specialist: an answer is delivered without another call.
    expect(model.requests.map(({ session }) => session.agent)).toEqual([
      ...['asking', 'orchestrator', 'answering', 'asking'],
    ])
  })

  test('CS2 the asker is the calling agent; in a run it is `as` or the user', async () => {
    const pretend = asker(() => [consultCall(question, { requesting_agent: 'boss' })])
    const { troupe, task, consultEvents } = await createConsultTroupe({
      asking: pretend,
      answering: backend,
    })
    const refused = await task('asking', 'go')
    expect((refused.output as { response: string }).response).toContain('requesting_agent')
    const requester = async (input: object) => {
      const { run_id } = await troupe.run('consult', { question, ...input })
      return (await consultEvents(run_id))[0]?.data.requesting_agent
    }
    expect(await requester({})).toBe('user')
    expect(await requester({ as: 'asking' })).toBe('asking')
  })

  test('CS3 prose is an answer, and nothing is asked again for its form', async () => {
    const { troupe, model } = await createConsultTroupe({ answering: { text: 'It has an id.' } })
    const { output } = await troupe.run('consult', { question })
    expect(output).toMatchObject({ response: { answer: 'It has an id.' }, suggested_next_steps: [] })
    expect(output).not.toHaveProperty('confidence')
    expect(model.requests).toHaveLength(2)
  })

  test('CS86 the suggestion is a hint, and the rationale says whether it was followed', async () => {
    const { troupe, consultEvents } = await createConsultTroupe({ answering: backend })
    const hints = async (suggested_agent: string) => {
      const { run_id } = await troupe.run('consult', { question, suggested_agent })
      const routed = (await consultEvents(run_id)).find(({ type }) => type === 'consult:routed')
      return [routed?.data.agent, routed?.data.hint, routed?.data.rationale]
    }
    expect(await hints('checking')).toEqual([
      ...['answering', 'not_followed', 'It knows. The suggestion checking was not followed.'],
    ])
    expect(await hints('answering')).toMatchObject(['answering', 'followed', expect.any(String)])
  })

  test('CS5 several specialists are asked at once, and the orchestrator writes one answer', async () => {
    const { troupe, model } = await createConsultTroupe({
      orchestrator: ({ messages }) =>
        JSON.stringify(messages).includes('<answers>')
          ? answerJson('Hash the id; the field is private.')
          : routeTo('answering', 'guarding'),
      answering: backend,
      guarding: answerJson('hash it', { confidence: 0.6 }),
    })
    const { output } = await troupe.run('consult', { question })
    expect(output).toMatchObject({
      consulted_agent: 'answering, guarding',
      response: { answer: 'Hash the id; the field is private.' },
      confidence: 0.6,
    })
    expect(model.requests).toHaveLength(4)
  })
})

describe('clarifications', () => {
  test('CS10 a specialist asks back, and the asker replies with the collaboration_id', async () => {
    const { task, consultEvents, model } = await createConsultTroupe({
      asking: asker(
        () => [consultCall(question)],
        (request) => {
          const { collaboration_id, clarification_needed, status } = consultResult(request)
          expect([clarification_needed, status]).toEqual(['Which version?', 'in_progress'])
          return [consultCall('Version 2.', { collaboration_id })]
        },
      ),
      answering: ({ session }) =>
        session.turn === 1 ? { text: '{"clarification_needed":"Which version?"}' } : backend,
    })
    const run = await task('asking', 'go')
    expect(deliveredTo(run)).toMatchObject({ status: 'resolved', response: { answer: 'id, username and email' } })
    const exchanges = (await consultEvents(run.run_id)).filter(({ type }) => type === 'consult:exchange')
    expect(exchanges.map(({ data }) => [data.exchange_number, data.message_type])).toEqual([
      ...[
        [1, 'question'],
        [1, 'clarification'],
        [2, 'question'],
        [2, 'response'],
      ],
    ])
    // The same session continues: it still has its first question.
    expect(model.requests.filter(({ session }) => session.agent === 'answering').at(-1)?.messages).toHaveLength(3)
  })
})
