import { expect, test } from 'vitest'
import { agents, createTestTroupe, taskCall } from '../../../test/support/test-troupe.ts'
import { isEvent } from '../../index.ts'

const rules = [
  { when: { agent: 'lead', turn: 1 }, reply: { toolCalls: [taskCall('coder', 'build')] } },
  { when: { agent: 'coder', turn: 1 }, reply: { toolCalls: [taskCall('critic', 'review')] } },
  { reply: { text: 'done' } },
]

const depthsOf = async (options: object) => {
  const { troupe, task } = await createTestTroupe({ agents, rules, ...options })
  const { run_id } = await task('lead', 'go')
  const events = await troupe.events(run_id).all()
  return events.flatMap((event) => (isEvent(event, 'session:open') ? [event.data.depth] : []))
}

test('TK34 `task.max_recursion_depth` is the depth limit of new runs, and `limits.depth` wins', async () => {
  expect(await depthsOf({})).toEqual([0, 1])
  expect(await depthsOf({ task: { max_recursion_depth: 2 } })).toEqual([0, 1, 2])
  expect(await depthsOf({ task: { max_recursion_depth: 2 }, limits: { depth: 1 } })).toEqual([0, 1])
})

test('TK34 unknown and invalid settings are rejected with the known ones', async () => {
  for (const task of [{ max_depth: 2 }, { max_recursion_depth: -1 }, { max_recursion_depth: 'two' }]) {
    const creating = createTestTroupe({ task: task as never })
    await expect(creating).rejects.toMatchObject({
      code: 'invalid_input',
      alternatives: ['max_recursion_depth', 'allow_cycles'],
    })
  }
})
