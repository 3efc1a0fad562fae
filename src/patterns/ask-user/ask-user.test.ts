import { describe, expect, test } from 'vitest'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, lastMessageText } from '../../../test/support/test-troupe.ts'

const asker = agent('asker')

async function asking(input: Record<string, unknown>, name = 'ask_user') {
  const model = chunkModel(chunksByTurn(toolCallChunks({ name, input }), textChunks('done')))
  const staged = await createTestTroupe({ model, agents: [asker] })
  return { ...staged, model, result: await staged.task('asker', 'go') }
}

describe('asking a person', () => {
  test('G8 the agent reads the answer as the result of its call', async () => {
    const { troupe, model, result } = await asking({ question: 'Deploy?', choices: ['yes', 'no'] })
    expect(result.gates).toMatchObject([{ question: 'Deploy?', choices: ['yes', 'no'], asked_by: 'asker' }])
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'no')).result
    expect(model.requests[1] && lastMessageText(model.requests[1])).toBe('{"answer":"no"}')
    const events = await troupe.events(result.run_id)
    expect(eventData(events, 'tool:pre')).toMatchObject([
      { tool: 'ask_user', category: 'interaction', kind: 'pattern' },
    ])
  })

  test('G8 an open question takes any answer, also one that is no text', async () => {
    const { troupe, model, result } = await asking({ question: 'Which?' }, 'AskUserQuestion')
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', { files: ['a', 'b'] })).result
    expect(model.requests[1] && lastMessageText(model.requests[1])).toBe('{"answer":{"files":["a","b"]}}')
  })

  test('G8 an empty question, or one with a single choice, goes back to the agent and reaches nobody', async () => {
    for (const input of [{ question: '  ' }, { question: 'x', choices: ['only'] }, {}]) {
      const { troupe, model, result } = await asking(input)
      expect(result.status).toBe('completed')
      expect(model.requests[1] && lastMessageText(model.requests[1])).toMatch(/^Error/)
      expect(await troupe.inbox()).toEqual([])
    }
  })
})
