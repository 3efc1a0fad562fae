import { readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/mcp-test-server.ts'
import { requireSandbox } from '../support/require-program.ts'
import type { TestTroupe } from '../support/test-troupe.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../support/test-troupe.ts'

/* Permissions of MCP servers that agents provide, in the permission mode `ask`. */

const MODULES = realpathSync(fileURLToPath(new URL('../../node_modules', import.meta.url)))
const FILES = join(MODULES, '@modelcontextprotocol/server-filesystem/dist/index.js')

interface PermissionSetup {
  folder: string
  inputs: string[]
  setup: TestTroupe
}

/** Opens a troupe with an agent that provides a server and calls its tools in sequence. */
async function openWithAgentServer(
  calls: { name: string; input: unknown }[],
  more: Parameters<typeof agent>[1],
): Promise<PermissionSetup> {
  requireSandbox()
  const folder = realpathSync(temporaryFolder())
  writeFileSync(join(folder, 'note.txt'), 'the blue one')
  const inputs: string[] = []
  const model = functionModel((request) => {
    inputs.push(lastMessageText(request))
    const call = calls[request.session.turn - 1]
    return call ? { calls: [call] } : { text: 'done' }
  })
  // The start script writes a file before any call.
  const script = 'echo x > started.txt; exec "$@"'
  const files = { command: 'sh', args: ['-c', script, 'sh', process.execPath, FILES, folder] }
  const setup = await createTestTroupe({
    model,
    workspace: { workspace: folder, sandbox: { read: [MODULES] } },
    agents: [agent('worker', { ...more, mcp_servers: { files } })],
    permissions: { mode: 'ask' },
  })
  return { folder, inputs, setup }
}

const read = { name: 'mcp__files__read_text_file', input: { path: 'note.txt' } }
const write = { name: 'mcp__files__write_file', input: { path: 'made.txt', content: 'x' } }

test('MC46 an agent-provided server can read the workspace but not write to it, not even when it starts', async () => {
  const { folder, inputs, setup } = await openWithAgentServer([read, write], {
    tools: ['Read', 'Write', read.name, write.name],
  })
  try {
    await setup.task('worker', 'copy it')
    expect(inputs[1]).toContain('the blue one')
    expect(inputs[2]).toMatch(/EROFS|read-only/i)
    expect(readdirSync(folder).filter((name) => !name.startsWith('.'))).toEqual(['note.txt'])
  } finally {
    await setup.troupe.close()
  }
})

test('MC47 a call needs permission and is denied in plan mode, even if the server declares it read-only', async () => {
  const asking = await openWithAgentServer([read], { tools: ['Read'] })
  try {
    const parked = await asking.setup.task('worker', 'look')
    expect(parked.status).toBe('waiting')
    expect(asking.inputs.join('\n')).not.toContain('the blue one')
  } finally {
    await asking.setup.troupe.close()
  }
  const planning = await openWithAgentServer([read], { tools: ['Read', read.name], read_only: true })
  try {
    await planning.setup.task('worker', 'look')
    expect(planning.inputs[1]).toContain('permission denied')
    expect(planning.inputs.join('\n')).not.toContain('the blue one')
  } finally {
    await planning.setup.troupe.close()
  }
})
