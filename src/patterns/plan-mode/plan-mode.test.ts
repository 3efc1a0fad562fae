import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { ToolError } from '../../kernel/event.ts'
import { defineTool } from '../../kernel/tool.ts'
import { enterPlanMode } from './enter-plan-mode.ts'
import { exitPlanMode } from './exit-plan-mode.ts'

function changing(done: string[]) {
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

async function planning(steps: { name: string; input: unknown }[]) {
  const done: string[] = []
  const model = functionModel(({ session }) => {
    const step = steps[session.turn - 1]
    return step ? { calls: [step] } : { text: 'done' }
  })
  const tools = ['EnterPlanMode', 'ExitPlanMode', 'Change']
  const made = await createTestTroupe({
    model,
    tools: [changing(done)],
    patterns: [enterPlanMode, exitPlanMode],
    agents: [agent('architect', { tools })],
  })
  const { run_id, status } = await made.task('architect', 'Plan it.')
  const errors = async () =>
    (await made.troupe.events(run_id)).filter(({ type }) => type === 'tool:error').map(({ data }) => data as ToolError)
  return { ...made, done, model, run_id, status, errors }
}

const change = (what: string) => ({ name: 'Change', input: { what } })
const enter = { name: 'EnterPlanMode', input: {} }
const exit = { name: 'ExitPlanMode', input: { plan: '1. change it' } }

test('TO53 in plan mode nothing is changed until a person approves the plan', async () => {
  const { troupe, done, status, errors } = await planning([enter, change('early'), exit, change('late')])
  expect(status).toBe('waiting')
  expect(done).toEqual([])
  expect((await errors()).map(({ detail }) => detail.code)).toEqual(['denied'])
  const [gate] = await troupe.inbox()
  expect(gate?.detail).toMatchObject({ plan: '1. change it' })
  const ended = await (await troupe.answer(gate?.gate_id ?? '', 'approve')).result
  expect(ended.status).toBe('completed')
  expect(done).toEqual(['late'])
  await troupe.close()
})

test('TO54 a plan that is not approved goes back with what was said, and plan mode stays', async () => {
  const { troupe, done, model } = await planning([enter, exit, change('anyway')])
  const [gate] = await troupe.inbox()
  await (await troupe.answer(gate?.gate_id ?? '', 'smaller steps, please')).result
  expect(done).toEqual([])
  expect(model.requests.map(lastMessageText).some((text) => text.includes('smaller steps, please'))).toBe(true)
  await troupe.close()
})

test('TO55 leaving plan mode without being in it is a mistake that asks nobody', async () => {
  const { troupe, status, errors } = await planning([exit])
  expect(status).toBe('completed')
  expect((await errors())[0]?.error).toContain('not in plan mode')
  expect(await troupe.inbox()).toEqual([])
  await troupe.close()
})
