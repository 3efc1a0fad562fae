import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { openWorkspace } from '../../src/tools/files/workspace.ts'
import type { SpawnRequest } from '../../src/tools/sandbox/sandbox.ts'
import { createUnsandboxed } from '../../src/tools/sandbox/unsandboxed.ts'
import { createToolWorkspace } from './tool-workspace.ts'

test('SB38 without the sandbox, a server gets no API key of the environment', async () => {
  using fixture = createToolWorkspace({ sandbox: 'none' })
  vi.stubEnv('TROUPE_TEST_API_KEY', 'the-key')
  vi.stubEnv('TROUPE_TEST_PLAIN', 'plain')
  const print = async (request: Partial<SpawnRequest>) => {
    const sandbox = createUnsandboxed(openWorkspace(fixture.workspace))
    const { child, ended } = await sandbox.spawn({ command: 'env', ...request })
    const output = child.stdout ? await text(child.stdout) : ''
    await ended
    return output
  }
  const server = await print({ longRunning: true })
  expect(server).not.toContain('the-key')
  expect(server).toContain('TROUPE_TEST_PLAIN=plain')
  const told = await print({ longRunning: true, env: { SERVER_TOKEN: 'its own' } })
  expect(told).toContain('SERVER_TOKEN=its own')
  expect(await print({}), 'control: a command that a person allowed').toContain('the-key')
  vi.unstubAllEnvs()
})
