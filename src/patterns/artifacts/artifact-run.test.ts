import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'

const writer = agent('writer', { tools: ['ArtifactWrite', 'ArtifactRead'] })
const call = (name: string, input: object) => ({ calls: [{ name, input }] })

test('R3 an agent writes versions of an artifact and reads them back; an unknown name lists the known ones', async () => {
  const model = functionModel((request) => {
    const turns = [
      call('ArtifactWrite', { name: 'plan.md', content: 'first' }),
      call('ArtifactWrite', { name: 'plan.md', content: 'second' }),
      call('ArtifactRead', { name: 'plan.md' }),
      call('ArtifactRead', { name: 'plan.md', version: 1 }),
      call('ArtifactRead', { name: 'plans.md' }),
    ]
    return turns[request.session.turn - 1] ?? { text: 'done' }
  })
  const { troupe, task } = await createTestTroupe({ model, agents: [writer] })
  const result = await task('writer', 'go')
  const received = model.requests.map(lastMessageText)
  expect(received[3]).toContain('second')
  expect(received[4]).toContain('first')
  expect(received[5]).toContain('known: plan.md')
  const events = await troupe.events(result.run_id).all()
  const steps = events.filter((event) => event.type === 'step:end').map((event) => JSON.stringify(event.data))
  expect(steps.join()).not.toContain('second')
})
