import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'

const writer = agent('writer', { tools: ['ArtifactWrite', 'ArtifactRead'] })
const call = (name: string, input: object) => ({ calls: [{ name, input }] })

test('R3 an agent writes versions of a piece of work and reads them back; an unknown one lists the known', async () => {
  const model = functionModel((request) => {
    const moves = [
      call('ArtifactWrite', { name: 'plan.md', content: 'first' }),
      call('ArtifactWrite', { name: 'plan.md', content: 'second' }),
      call('ArtifactRead', { name: 'plan.md' }),
      call('ArtifactRead', { name: 'plan.md', version: 1 }),
      call('ArtifactRead', { name: 'plans.md' }),
    ]
    return moves[request.session.turn - 1] ?? { text: 'done' }
  })
  const { troupe, task } = await createTestTroupe({ model, agents: [writer] })
  const result = await task('writer', 'go')
  const heard = model.requests.map(lastMessageText)
  expect(heard[3]).toContain('second')
  expect(heard[4]).toContain('first')
  expect(heard[5]).toContain('known: plan.md')
  const events = await troupe.events(result.run_id)
  const held = events.filter((event) => event.type === 'step:end').map((event) => JSON.stringify(event.data))
  expect(held.join()).not.toContain('second')
})
