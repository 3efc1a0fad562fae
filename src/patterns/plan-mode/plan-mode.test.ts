import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { ToolError } from '../../kernel/event.ts'
import { defineTool } from '../../tools/define-tool.ts'

function changeTool(done: string[]) {
  return defineTool({
    name: 'Change',
    description: 'Changes something.',
    kind: 'act',
    category: 'action',
    input: z.object({ what: z.string() }),
    execute: ({ what }) => {
      done.push(what)
      return { success: true, output: what }
    },
  })
}

async function runArchitect(steps: { name: string; input: unknown }[]) {
  const done: string[] = []
  const model = functionModel(({ session }) => {
    const step = steps[session.turn - 1]
    return step ? { calls: [step] } : { text: 'done' }
  })
  const tools = ['EnterPlanMode', 'ExitPlanMode', 'Change']
  const harness = await createTestTroupe({
    model,
    tools: [changeTool(done)],
    agents: [agent('planner', { tools })],
  })
  const { run_id, status } = await harness.task('planner', 'Plan it.')
  const errors = async () =>
    (await harness.troupe.events(run_id).all())
      .filter(({ type }) => type === 'tool:error')
      .map(({ data }) => data as ToolError)
  return { ...harness, done, model, run_id, status, errors }
}

const change = (what: string) => ({ name: 'Change', input: { what } })
const enter = { name: 'EnterPlanMode', input: {} }
const exit = { name: 'ExitPlanMode', input: { plan: '1. change it' } }

test('TO53 plan mode blocks changes until a person approves the plan', async () => {
  const { troupe, done, status, errors } = await runArchitect([enter, change('early'), exit, change('late')])
  expect(status).toBe('waiting')
  expect(done).toEqual([])
  expect((await errors()).map(({ detail }) => detail.code)).toEqual(['denied'])
  const [gate] = await troupe.gates().all()
  expect(gate?.detail).toMatchObject({ plan: '1. change it' })
  const ended = await (await troupe.answer(gate?.gate_id ?? '', 'approve')).result
  expect(ended.status).toBe('completed')
  expect(done).toEqual(['late'])
  await troupe.close()
})

test('TO54 a plan that is not approved returns the feedback, and plan mode stays on', async () => {
  const { troupe, done, model } = await runArchitect([enter, exit, change('anyway')])
  const [gate] = await troupe.gates().all()
  await (await troupe.answer(gate?.gate_id ?? '', 'smaller steps, please')).result
  expect(done).toEqual([])
  expect(model.requests.map(lastMessageText).some((text) => text.includes('smaller steps, please'))).toBe(true)
  await troupe.close()
})

test('TO55 ExitPlanMode outside plan mode is a tool error and opens no gate', async () => {
  const { troupe, status, errors } = await runArchitect([exit])
  expect(status).toBe('completed')
  expect((await errors())[0]?.error).toContain('not in plan mode')
  expect(await troupe.gates().all()).toEqual([])
  await troupe.close()
})
