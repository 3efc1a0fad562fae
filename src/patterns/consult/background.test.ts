import { describe, expect, test } from 'vitest'
import type { Reply } from '../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import { collectCall, consultResult, createConsultTroupe, deliveredTo } from '../../../test/support/consultation.ts'
import { lastMessageText } from '../../../test/support/test-troupe.ts'

const QUESTION = 'How do we deploy the login, and is that safe?'
const start = () => [consultCall(QUESTION, { background: true })]

describe('several specialists in the background', () => {
  const orchestrator: Reply = (request) =>
    lastMessageText(request).includes('<answers>') ? answerJson('Both.') : routeTo('answering', 'checking')
  const replies = { orchestrator, answering: answerJson('In two steps.'), checking: answerJson('Rotate the keys.') }

  test('CS53 all are asked, and one answer is made of theirs when it is collected', async () => {
    const asking = asker(start, collectCall)
    const { troupe, task, model } = await createConsultTroupe({ ...replies, asking })
    const run = await task('asking', 'go')
    expect(deliveredTo(run)).toMatchObject({
      ...{ status: 'resolved', consulted_agent: 'answering, checking', response: { answer: 'Both.' } },
    })
    const synthesis = model.requests.find((request) => lastMessageText(request).includes('<answers>'))
    expect(synthesis && lastMessageText(synthesis)).toMatch(/In two steps\.[\s\S]*Rotate the keys\./)
    const messages = await troupe.query({ table: 'collaboration_exchanges' }).all()
    expect(messages.map(({ from_agent, to_agent }) => `${from_agent} ${to_agent}`)).toEqual([
      ...['asking answering', 'asking checking', 'answering asking', 'checking asking', 'orchestrator asking'],
    ])
    const [row] = await troupe.query({ table: 'agent_collaborations' }).all()
    expect(row).toMatchObject({ request_tokens: 20, response_tokens: 10, routing_tokens: 15, delivery_tokens: 15 })
    expect(await troupe.replay(run.run_id)).toMatchObject({ same: true })
  })

  test('CS53 what is not collected is delivered as one answer before the asker ends', async () => {
    const asking: Reply = (request) =>
      request.session.turn === 1 ? { calls: start() } : { text: lastMessageText(request) }
    const { troupe, task, model } = await createConsultTroupe({ ...replies, asking })
    const run = await task('asking', 'go')
    expect(JSON.stringify(run.output)).toContain('Both.')
    expect(model.requests.filter((request) => lastMessageText(request).includes('<answers>'))).toHaveLength(1)
    expect(await troupe.query({ table: 'agent_collaborations' }).all()).toMatchObject([{ status: 'resolved' }])
  })

  test('CS53 one that gives no answer is named, and sinks nobody else', async () => {
    const { task } = await createConsultTroupe({
      ...replies,
      asking: asker(start, collectCall),
      checking: { text: ' ' },
    })
    expect(deliveredTo(await task('asking', 'go'))).toMatchObject({
      ...{ status: 'resolved', consulted_agent: 'answering' },
      response: { answer: 'In two steps.', additional_context: 'No answer from checking.' },
    })
  })
})

test('CS54 several consultations in the background, also of one specialist, are collected in any order', async () => {
  const topics = ['carts', 'mails', 'roles']
  const ids: string[] = []
  const result = (index: number) => [{ name: 'consult_result', input: { collaboration_id: ids[index] } }]
  const atWork = new Set<string>()
  const mayAnswer = Promise.withResolvers<void>()
  const specialist: Reply = async (request) => {
    const [, topic = ''] = /Who owns (\w+)\?/.exec(lastMessageText(request)) ?? []
    atWork.add(topic)
    // All three are at work at the same time, two of them in sessions of the same specialist.
    if (atWork.size === 3) mayAnswer.resolve()
    await mayAnswer.promise
    return answerJson(`The ${topic} team.`)
  }
  const { troupe, task, model } = await createConsultTroupe({
    asking: asker(
      () => topics.map((topic) => consultCall(`Who owns ${topic}?`, { background: true })),
      ({ messages }) => {
        ids.push(...(JSON.stringify(messages).match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []))
        return result(2)
      },
      () => result(0),
      () => result(1),
    ),
    orchestrator: (request) => routeTo(lastMessageText(request).includes('mails') ? 'checking' : 'answering'),
    answering: specialist,
    checking: specialist,
  })
  const { status, run_id } = await task('asking', 'go')
  expect([status, new Set(ids).size]).toEqual(['completed', 3])
  const results = model.requests.filter(({ session }) => session.agent === 'asking').slice(2)
  expect(results.map((request) => consultResult(request).response?.answer)).toEqual([
    ...['The roles team.', 'The carts team.', 'The mails team.'],
  ])
  const rows = await troupe.query({ table: 'agent_collaborations' }).all()
  expect(rows.map((row) => [row.specialist_agent, row.status])).toEqual([
    ['answering', 'resolved'],
    ['checking', 'resolved'],
    ['answering', 'resolved'],
  ])
  expect(new Set(rows.map(({ session_id }) => session_id)).size).toBe(3)
  expect(await troupe.replay(run_id)).toMatchObject({ same: true })
})
