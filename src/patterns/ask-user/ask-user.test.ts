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

/** Runs an agent that calls the tool once. */
async function runWithQuestion(input: Record<string, unknown>, name = 'ask_user') {
  const model = chunkModel(chunksByTurn(toolCallChunks({ name, input }), textChunks('done')))
  const harness = await createTestTroupe({ model, agents: [asker] })
  return { ...harness, model, result: await harness.task('asker', 'go') }
}

describe('ask_user', () => {
  test('G8 the answer of the user is the result of the tool call', async () => {
    const { troupe, model, result } = await runWithQuestion({ question: 'Deploy?', choices: ['yes', 'no'] })
    expect(result.gates).toMatchObject([{ question: 'Deploy?', choices: ['yes', 'no'], asked_by: 'asker' }])
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'no')).result
    expect(model.requests[1] && lastMessageText(model.requests[1])).toBe('{"answer":"no"}')
    const events = await troupe.events(result.run_id).all()
    expect(eventData(events, 'tool:pre')).toMatchObject([
      { tool: 'ask_user', category: 'interaction', kind: 'pattern' },
    ])
  })

  test('G8 a question without choices accepts any answer, including structured data', async () => {
    const { troupe, model, result } = await runWithQuestion({ question: 'Which?' }, 'AskUserQuestion')
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', { files: ['a', 'b'] })).result
    expect(model.requests[1] && lastMessageText(model.requests[1])).toBe('{"answer":{"files":["a","b"]}}')
  })

  test('G8 an empty question or a single choice is a tool error and opens no gate', async () => {
    for (const input of [{ question: '  ' }, { question: 'x', choices: ['only'] }, {}]) {
      const { troupe, model, result } = await runWithQuestion(input)
      expect(result.status).toBe('completed')
      expect(model.requests[1] && lastMessageText(model.requests[1])).toMatch(/^Error/)
      expect(await troupe.gates().all()).toEqual([])
    }
  })
})
