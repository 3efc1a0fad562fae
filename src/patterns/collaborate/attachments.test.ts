import { expect, onTestFinished, test } from 'vitest'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { name: 'pixel.png', media_type: 'image/png', data: PIXEL }

test('CO106 every specialist gets the files, and files that cannot be attached are rejected', async () => {
  const model = functionModel(() => ({ text: 'A pixel.' }))
  const { troupe } = await createTestTroupe({ model, agents: [agent('a'), agent('b')] })
  onTestFinished(() => troupe.close())
  const input = { task: 'What is this?', agents: ['a', 'b'], synthesis: 'merge', structured: false } as const
  const run = await troupe.run('collaborate' as string, { ...input, attachments: [image] })
  expect(run).toMatchObject({ status: 'completed', error: null })
  for (const name of ['a', 'b']) {
    const asked = model.requests.find(({ session }) => session.agent === name)
    expect(asked?.messages[0]?.content).toContainEqual({ type: 'file', ...image })
  }
  const wrong = { ...input, attachments: [{ ...image, media_type: 'image/gif' }] }
  await expect(troupe.run('collaborate' as string, wrong)).rejects.toMatchObject({ code: 'invalid_input' })
})

test('CO106 the agents that divide the task, evaluate and write the answer are told names and types of the files', async () => {
  const assignments = [{ agent: 'b', subtask: 'Look at it.' }]
  const model = functionModel(({ session, output }) => {
    if (session.agent === 'evaluator') return { text: JSON.stringify({ scores: [], best: 1, reason: 'x' }) }
    return { text: session.agent === 'a' && output ? JSON.stringify({ plan: 'One part.', assignments }) : 'A pixel.' }
  })
  const { troupe } = await createTestTroupe({ model, agents: [agent('a'), agent('b')] })
  onTestFinished(() => troupe.close())
  const input = { task: 'What is this?', agents: ['a', 'b'], structured: false, attachments: [image] } as const
  await troupe.run('collaborate' as string, { ...input, mode: 'hierarchical' })
  await troupe.run('collaborate' as string, { ...input, synthesis: 'coordinator' })
  await troupe.run('collaborate' as string, { ...input, synthesis: 'best_of' })
  for (const name of ['a', 'coordinator', 'evaluator']) {
    const asked = model.requests.find(({ session }) => session.agent === name)
    expect(JSON.stringify(asked?.messages), name).toContain('<files>')
    expect(JSON.stringify(asked?.messages), name).toContain('- pixel.png (image/png, ')
  }
})
