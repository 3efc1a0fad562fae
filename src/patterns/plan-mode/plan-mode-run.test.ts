import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import { defineTool } from '../../index.ts'

const written: string[] = []
const write = defineTool({
  name: 'Write',
  description: 'writes',
  kind: 'act',
  category: 'action',
  input: z.object({ path: z.string() }),
  subject: ({ path }) => path,
  execute({ path }) {
    written.push(path)
    return { success: true, output: 'written' }
  },
})
const planner = agent('planner', { tools: ['EnterPlanMode', 'ExitPlanMode', 'Write', 'task'] })
const call = (name: string, input: object = {}) => ({ calls: [{ name, input }] })

/** Runs the planner, which answers each turn with the next of these replies. */
async function runPlanner(...replies: object[]) {
  written.length = 0
  const model = functionModel((request) => {
    if (request.session.agent === 'helper') {
      return request.session.turn === 1 ? call('Write', { path: 'sub-agent' }) : { text: lastMessageText(request) }
    }
    return replies[request.session.turn - 1] ?? { text: lastMessageText(request) }
  })
  const { troupe, task } = await createTestTroupe({ model, agents: [planner, agent('helper')], tools: [write] })
  return { model, troupe, result: await task('planner', 'go') }
}

test('TO53 plan mode blocks writes, including those of sub-agents, until the plan is approved', async () => {
  const { troupe, result, model } = await runPlanner(
    call('EnterPlanMode'),
    call('Write', { path: 'early' }),
    call('task', { agent: 'helper', instruction: 'write' }),
    call('ExitPlanMode', { plan: 'write one file' }),
    call('Write', { path: 'late' }),
  )
  expect(result.status).toBe('waiting')
  expect(written).toEqual([])
  expect(JSON.stringify(model.requests.map(lastMessageText))).toContain('denied')
  const ended = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'approve')).result
  expect(ended.status).toBe('completed')
  expect(written).toEqual(['late'])
})

test('TO54 an answer other than an approval is feedback, and plan mode stays on', async () => {
  const { troupe, result, model } = await runPlanner(
    call('EnterPlanMode'),
    call('ExitPlanMode', { plan: 'write' }),
    call('Write', { path: 'still' }),
  )
  await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'smaller steps, please')).result
  expect(written).toEqual([])
  expect(JSON.stringify(model.requests.map(lastMessageText))).toContain('smaller steps, please')
})
