import { expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import type { WireReply } from './wire-double.ts'
import { startWireDouble } from './wire-double.ts'

test.each<[string, WireReply]>([
  ['is reset after [DONE]', { reset: 'after' }],
  ['is reset after the finish reason and the usage', { reset: 'after', noDone: true }],
  ['stays open after [DONE]', { stayOpen: true }],
])('MO80 a complete answer is used and paid once when the connection %s', async (_how, reply) => {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(() => ({ text: 'the answer', ...reply }))
  onTestFinished(() => wire.close())
  for (const provider of ['compatible', 'openai-chat']) {
    wire.requests.length = 0
    const env = { ...wire.env, OPENAI_BASE_URL: wire.url, OPENAI_API_KEY: 'k' }
    const { code, out, err } = await fixture.troupeWith({ env }, 'run', 'task', 'go', '--model', `${provider}/m`)
    expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringContaining('the answer') })
    expect(wire.requests).toHaveLength(1)
    expect(err.replace(/\s+/g, ' ')).toContain('1 call · 120 tokens')
  }
})
