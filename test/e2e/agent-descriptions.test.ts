import { expect, onTestFinished, test } from 'vitest'
import { createTroupeWithStore } from '../support/test-troupe.ts'
import { startMockProvider, startRecordingProxy } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS } from './provider-harness.ts'

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  test(`TK30 ${name}: the request over HTTP describes the agents that the task tool can start`, async () => {
    const mock = await startMockProvider()
    onTestFinished(() => mock.stop())
    const proxy = await startRecordingProxy(mock)
    onTestFinished(() => proxy.close())
    await mock.setFixtures([{ match: { userMessage: 'go' }, response: { content: 'done' } }])
    const troupe = await createTroupeWithStore({ store: 'memory', model: await loadModelAt(protocol, proxy.url) })
    const { status } = await troupe.run('task', { agent: 'default', instruction: 'go' })
    expect(status).toBe('completed')
    const body = JSON.stringify(proxy.bodies[0])
    const listed = troupe.agents.filter(({ on_request }) => !on_request)
    expect(listed.map(({ name: agent }) => agent)).toEqual(
      expect.arrayContaining(['architect', 'default', 'implementer', 'researcher', 'reviewer']),
    )
    for (const { name: agent, description } of troupe.agents) {
      const isListed = listed.some((each) => each.name === agent)
      expect(body.includes(`- ${agent}: ${description}`), agent).toBe(isListed)
    }
  })
}
