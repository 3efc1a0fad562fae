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
