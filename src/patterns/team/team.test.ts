import { expect, test } from 'vitest'
import { playing, stage } from '../../../test/stage.ts'

test('smoke', async () => {
  const model = playing((request) => {
    console.log(request.session.agent, JSON.stringify(request.messages.map((m) => m.content)), request.system)
    return { text: JSON.stringify({ response: `${request.session.agent} did it`, verdicts: [{ condition: 1, holds: true }] }) }
  })
  const { troupe } = await stage({ model })
  const result = await troupe.run('team', {
    team: {
      name: 'T',
      agents: [{ name: 'writer', role: 'writes' }, { name: 'reviewer' }],
      handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'draft is complete' }],
      after_work_behavior: 'terminate',
    },
    message: 'Write.',
  })
  console.log(JSON.stringify(result, null, 1))
  console.log((await troupe.events(result.run_id)).map((e) => `${e.type} ${JSON.stringify(e.data).slice(0, 300)}`).join('\n'))
  expect(result.status).toBe('completed')
  console.log(JSON.stringify(await troupe.replay(result.run_id)))
})
