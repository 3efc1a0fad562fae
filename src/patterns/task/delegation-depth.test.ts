import { expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { TroupeOptions } from '../../index.ts'

const delegate = (input: Record<string, unknown>) => ({ calls: [{ name: 'task', input }] })
const agents = ['lead', 'helper', 'third'].map((name) => agent(name))

/** Each agent delegates once, as `next` says, and repeats what it gets back. */
async function runChain(next: Record<string, string>, options: TroupeOptions) {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    const to = next[name]
    if (turn > 1 || to === undefined) return { text: turn > 1 ? lastMessageText(request) : 'bottom' }
    return delegate({ agent: to, instruction: 'x' })
  })
  const { troupe, task } = await createTestTroupe({ model, agents, ...options })
  const result = await task('lead', 'go')
  const sessions = await troupe.sessions({ run_id: result.run_id }).all()
  return {
    model,
    response: (result.output as { response: string }).response,
    events: await troupe.events(result.run_id).all(),
    levels: sessions.map((session) => `${session.depth} ${session.agent}`).sort(),
  }
}

test('S7 TK2 a call of task beyond limits.depth names the limit and has the fields of the specification', async () => {
  const { response, events } = await runChain({ lead: 'helper', helper: 'third' }, {})
  expect(response).toContain('maximum recursion depth exceeded: helper is at depth 1, and `limits.depth` is 1')
  expect(response).toContain('--limit max_recursion_depth=2')
  const [, lead] = eventData(events, 'session:open').map(({ parent_session_id }) => parent_session_id)
  expect(eventData(events, 'tool:error')).toMatchObject([
    {
      tool: 'task',
      agent: 'third',
      sub_session_id: expect.stringMatching(/_third$/),
      parent_session_id: expect.stringMatching(/_helper$/),
      error: expect.stringContaining('maximum recursion depth exceeded'),
      detail: { code: 'depth_exceeded', alternatives: ['depth'] },
    },
  ])
  expect(lead).toMatch(/_lead$/)
})

test('TO46 an agent whose file does not list task is told that it has no such tool', async () => {
  const withoutTask = [agent('lead'), agent('helper', { tools: [] }), agent('third')]
  const { response } = await runChain({ lead: 'helper', helper: 'third' }, { agents: withoutTask })
  expect(response).toContain('unknown_tool')
})

test('TK32 self_depth works above depth, and its error names self_depth', async () => {
  const { levels, response, events } = await runChain({ lead: 'self' }, { limits: { depth: 1, self_depth: 3 } })
  expect(levels).toEqual(['0 lead', '1 lead', '2 lead', '3 lead'])
  expect(response).toContain('lead called itself 3 times, and `limits.self_depth` is 3')
  expect(eventData(events, 'session:open').at(-1)?.tools).not.toContain('task')
  const below = await runChain({ lead: 'helper', helper: 'self' }, { limits: { depth: 1, self_depth: 3 } })
  expect(below.levels).toEqual(['0 lead', '1 helper', '2 helper', '3 helper'])
  expect(below.response).toContain('helper is at depth 3, and `limits.self_depth` is 3')
})

test('TK32 where only self_depth is left, self is the only choice', async () => {
  const { model, response, levels } = await runChain(
    { lead: 'helper', helper: 'third' },
    { limits: { depth: 1, self_depth: 2 } },
  )
  const offered = model.requests.find(({ session }) => session.agent === 'helper')?.tools
  const schema = offered?.find(({ name }) => name === 'task')?.input as { properties: { agent: { enum: string[] } } }
  expect(schema.properties.agent.enum).toEqual(['self'])
  expect(response).toContain('`limits.depth` is 1')
  expect(levels).toEqual(['0 lead', '1 helper'])
  const low = await runChain({ lead: 'self' }, { limits: { depth: 4, self_depth: 1 } })
  expect(low.response).toContain('`limits.self_depth` is 1')
  expect(low.response).toContain('--limit self_depth=2')
})

test('TK33 task.allow_cycles allows agents on the path; the depth limit ends the chain', async () => {
  const back = { lead: 'helper', helper: 'lead' }
  const refused = await runChain(back, { limits: { depth: 3 } })
  expect(refused.response).toContain('lead → helper → lead')
  expect(refused.response).toContain('task.allow_cycles')
  const allowed = await runChain(back, { limits: { depth: 3 }, task: { allow_cycles: true } })
  expect(allowed.levels).toEqual(['0 lead', '1 helper', '2 lead', '3 helper'])
  expect(allowed.response).toContain('maximum recursion depth exceeded')
})
