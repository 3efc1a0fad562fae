import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, taskCall } from '../../../test/support/test-troupe.ts'

const expert = agent('expert', { on_request: true })

function offered(model: ReturnType<typeof functionModel>, tool: string): string {
  return JSON.stringify(model.requests[0]?.tools.find(({ name }) => name === tool))
}

test('A25 task and collaborate do not list an agent that is on_request, and a call by its name works', async () => {
  const model = functionModel(({ session }) =>
    session.agent === 'lead' && session.turn === 1 ? { calls: [taskCall('expert', 'help')] } : { text: 'done' },
  )
  const lead = agent('lead', { tools: ['task', 'collaborate'] })
  const { task } = await createTestTroupe({ model, agents: [lead, agent('coder'), expert] })
  expect(await task('lead', 'go')).toMatchObject({ status: 'completed' })
  for (const tool of ['task', 'collaborate']) {
    expect(offered(model, tool)).toContain('coder')
    expect(offered(model, tool)).not.toContain('expert')
    expect(offered(model, tool)).not.toContain('backend_developer')
  }
  expect(model.requests.map(({ session }) => session.agent)).toContain('expert')
})

test('A25 an agent that is on_request is listed for a caller that names it in agents', async () => {
  const model = functionModel(() => ({ text: 'done' }))
  const lead = agent('lead', { agents: ['expert', 'security_expert'] })
  const { task } = await createTestTroupe({ model, agents: [lead, agent('coder'), expert] })
  await task('lead', 'go')
  expect(offered(model, 'task')).toContain('expert of the test')
  expect(offered(model, 'task')).toContain('Reviews the security of code')
  expect(offered(model, 'task')).not.toContain('coder')
})
