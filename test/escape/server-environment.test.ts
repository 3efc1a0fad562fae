import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { openWorkspace } from '../../src/tools/files/workspace.ts'
import type { SpawnRequest } from '../../src/tools/sandbox/sandbox.ts'
import { createUnsandboxed } from '../../src/tools/sandbox/unsandboxed.ts'
import type { ToolsOptions } from '../../src/tools/tools.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { createToolWorkspace } from './tool-workspace.ts'

beforeEach(countEachTest('environment'))

test('SB38 without the sandbox, neither a command nor a server gets an API key of the environment', async () => {
  using fixture = createToolWorkspace({ sandbox: 'none' })
  vi.stubEnv('TROUPE_TEST_API_KEY', 'the-key')
  vi.stubEnv('TROUPE_TEST_PLAIN', 'plain')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const print = async (request: Partial<SpawnRequest>) => {
    const sandbox = createUnsandboxed(openWorkspace(fixture.workspace))
    const { child, ended } = await sandbox.spawn({ command: 'env', ...request })
    const output = child.stdout ? await text(child.stdout) : ''
    await ended
    return output
  }
  for (const environment of [await print({ longRunning: true }), await print({})]) {
    expect(environment).not.toContain('the-key')
    expect(environment, 'control: other variables').toContain('TROUPE_TEST_PLAIN=plain')
  }
  const named = await print({ longRunning: true, env: { SERVER_TOKEN: 'its own' } })
  expect(named).toContain('SERVER_TOKEN=its own')
})

test('SB38 without the sandbox, a language server of the repository is not started on the host', async () => {
  const query = async (options: (marker: string) => Partial<ToolsOptions>) => {
    const fixture = createToolWorkspace({ sandbox: 'none' })
    onTestFinished(() => fixture[Symbol.dispose]())
    const marker = join(fixture.outside, 'started')
    fixture.writeFile('a.ts', 'export const a = 1\n')
    fixture.writeFile(SERVER, `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(marker)}, '')\n`)
    using other = createToolWorkspace({ sandbox: 'none', workspace: fixture.workspace, ...options(fixture.workspace) })
    const { code, text: error } = await other.call('LSP', { operation: 'symbols', file_path: 'a.ts' })
    return { started: existsSync(marker), code, error }
  }
  const refused = await query(() => ({}))
  expect(refused).toMatchObject({ started: false, error: expect.stringContaining('there is no sandbox') })
  const named = await query((workspace) => ({ lsp: [process.execPath, join(workspace, SERVER)] }))
  expect(named.started, 'control: the operator names the server').toBe(true)
})

const SERVER = 'node_modules/typescript-language-server/lib/cli.mjs'
