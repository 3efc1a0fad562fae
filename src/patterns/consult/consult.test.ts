import { describe, expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { ConsultOutput } from './output.ts'

const structured = {
  answer: 'id, username and email',
  additional_context: 'preferences is JSON',
  code_reference: 'models/user.py lines 15-42',
  suggested_next_steps: ['Show the username'],
  confidence: 0.9,
}

const frontend = agent('frontend', { tools: ['consult'] })
const backend = agent('backend', { tools: [] })

describe('a consultation', () => {
  test('CS1 a question of an agent goes through the orchestrator to a specialist, and its answer comes back', async () => {
    const model = functionModel((request) => {
      if (request.session.agent === 'backend') return { text: JSON.stringify(structured) }
      const call = { name: 'consult', input: { question: 'What fields has User?', suggested_agent: 'backend' } }
      return request.session.turn === 1 ? { calls: [call] } : { text: lastMessageText(request) }
    })
    const { troupe, task } = await createTestTroupe({ model, agents: [frontend, backend] })
    const run = await task('frontend', 'Build the profile page.')
    const output = JSON.parse((run.output as { response: string }).response) as ConsultOutput
    const { answer, additional_context, code_reference } = structured
    expect(output).toMatchObject({
      status: 'resolved',
      consulted_agent: 'backend',
      response: { answer, additional_context, code_reference },
      suggested_next_steps: ['Show the username'],
      confidence: 0.9,
    })
    const events = (await troupe.events(run.run_id).all()).filter(({ type }) => type.startsWith('consult:'))
    expect(events[0]).toMatchObject({
      type: 'consult:request',
      data: { request_type: 'agent_consultation', question: 'What fields has User?', requesting_agent: 'frontend' },
    })
    const ids = new Set(events.map(({ data }) => (data as { collaboration_id?: string }).collaboration_id))
    expect([...ids]).toEqual([output.collaboration_id])
  })

  test('CS2 the asker is the calling agent; in a run it is `as` or the user', async () => {
    const model = functionModel((request) => {
      if (request.session.agent === 'backend') return { text: 'yes' }
      const call = { name: 'consult', input: { question: 'ok?', suggested_agent: 'backend', requesting_agent: 'boss' } }
      return request.session.turn === 1 ? { calls: [call] } : { text: lastMessageText(request) }
    })
    const { troupe, task } = await createTestTroupe({ model, agents: [frontend, backend] })
    const refused = await task('frontend', 'go')
    expect((refused.output as { response: string }).response).toContain('requesting_agent')
    const requesters = async (input: object) => {
      const { run_id } = await troupe.run('consult', { question: 'ok?', suggested_agent: 'backend', ...input })
      const events: { type: string; data: object }[] = await troupe.events(run_id).all()
      return events.find(({ type }) => type === 'consult:request')?.data
    }
    expect(await requesters({})).toMatchObject({ requesting_agent: 'user' })
    expect(await requesters({ as: 'frontend' })).toMatchObject({ requesting_agent: 'frontend' })
  })

  test('CS3 prose is an answer', async () => {
    const model = functionModel(() => ({ text: 'It has an id.' }))
    const { troupe } = await createTestTroupe({ model, agents: [frontend, backend] })
    const { output } = await troupe.run('consult', { question: 'fields?', suggested_agent: 'backend' })
    expect(output).toMatchObject({ response: { answer: 'It has an id.' }, suggested_next_steps: [] })
    expect(model.requests).toHaveLength(1)
  })
})
