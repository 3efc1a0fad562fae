import { expect, test } from 'vitest'
import { agentModel } from '../../../test/support/collaboration.ts'
import { textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, taskCall } from '../../../test/support/test-troupe.ts'
import { parseAgentFile } from '../../formats/agent-file.ts'
import type { Agent, TroupeOptions } from '../../index.ts'

/** The tools that the model of each agent was offered in its first request. */
async function offeredTools(first: string, own: Agent[] = [], options: TroupeOptions = {}) {
  const model = agentModel({
    everybody: ({ session }) =>
      session.turn === 1 && session.agent === first && first !== 'default'
        ? toolCallChunks(taskCall('default', 'help'))
        : textChunks('done'),
  })
  const { task } = await createTestTroupe({ agents: own, model, ...options })
  await task(first, 'go')
  return (name: string) => model.requestsFrom(name)[0]?.tools.map((tool) => tool.name) ?? []
}

test('A24 default and architect are offered collaborate as the first agent of a run', async () => {
  const consultTools = ['consult', 'consult_result', 'rate_consultation']
  expect((await offeredTools('default'))('default')).toEqual([
    ...['task', 'task_result', 'ask_user', 'collaborate'],
    ...consultTools,
  ])
  expect((await offeredTools('architect'))('architect')).toContain('collaborate')
  for (const name of ['researcher', 'implementer', 'reviewer'])
    expect((await offeredTools(name))(name)).not.toContain('collaborate')
})

test('A24 as a sub-agent default has the tools of its caller only', async () => {
  const limits = { depth: 2 }
  const plain = await offeredTools('lead', [agent('lead')], { limits })
  expect([plain('lead'), plain('default')].map((tools) => tools.includes('collaborate'))).toEqual([false, false])
  const both = await offeredTools('lead', [agent('lead', { tools: ['task', 'collaborate'] })], { limits })
  expect(both('default')).toEqual(['task', 'collaborate'])
})

test('A24 an agent file adds tools that agents have to ask for, and no others', async () => {
  const file = (tools: string) => `---\nname: mine\ndescription: x\ntools: ${tools}\n---\nWork.\n`
  const parsed = await parseAgentFile(file('"*, collaborate, EnterPlanMode"'), '/p/.troupe/agents/mine.md')
  expect(parsed?.agent).toMatchObject({ extra_tools: ['collaborate', 'EnterPlanMode'] })
  const origin = { by: 'user' as const, path: '/p/.troupe/agents/mine.md' }
  const extra_tools = ['collaborate', 'task', 'unknown']
  const mine = { name: 'mine', description: '', instructions: '', extra_tools, origin }
  expect((await offeredTools('mine', [mine]))('mine')).toEqual(['task', 'task_result', 'ask_user', 'collaborate'])
  const byModel = { ...mine, origin: { by: 'model' as const } }
  expect((await offeredTools('mine', [byModel]))('mine')).not.toContain('collaborate')
})
