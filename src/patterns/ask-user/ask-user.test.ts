import { describe, expect, test } from 'vitest'
import { answering, calls, dataOf, inTurn, says } from '../../../test/by-hand.ts'
import { agent, lastInput, stage } from '../../../test/stage.ts'

const asker = agent('asker')

async function asking(input: Record<string, unknown>, name = 'ask_user') {
  const model = answering(inTurn(calls({ name, input }), says('done')))
  const staged = await stage({ model, agents: [asker] })
  return { ...staged, model, result: await staged.task('asker', 'go') }
}

describe('asking a person', () => {
  test('G8 the agent reads the answer as the result of its call', async () => {
    const { troupe, model, result } = await asking({ question: 'Deploy?', choices: ['yes', 'no'] })
    expect(result.gates).toMatchObject([{ question: 'Deploy?', choices: ['yes', 'no'], asked_by: 'asker' }])
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'no')).result
    expect(model.asked[1] && lastInput(model.asked[1])).toBe('{"answer":"no"}')
    const events = await troupe.events(result.run_id)
    expect(dataOf(events, 'tool:pre')).toMatchObject([{ tool: 'ask_user', category: 'interaction', kind: 'pattern' }])
  })

  test('G8 an open question takes any answer, also one that is no text', async () => {
    const { troupe, model, result } = await asking({ question: 'Which?' }, 'AskUserQuestion')
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', { files: ['a', 'b'] })).result
    expect(model.asked[1] && lastInput(model.asked[1])).toBe('{"answer":{"files":["a","b"]}}')
  })

  test('G8 an empty question, or one with a single choice, goes back to the agent and reaches nobody', async () => {
    for (const input of [{ question: '  ' }, { question: 'x', choices: ['only'] }, {}]) {
      const { troupe, model, result } = await asking(input)
      expect(result.status).toBe('completed')
      expect(model.asked[1] && lastInput(model.asked[1])).toMatch(/^Error/)
      expect(await troupe.inbox()).toEqual([])
    }
  })
})
