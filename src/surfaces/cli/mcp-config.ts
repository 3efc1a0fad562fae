import { readFile } from 'node:fs/promises'
import { TroupeError } from '../../errors.ts'
import type { McpServerConfig } from '../../index.ts'
import type { Cli } from './cli.ts'

type Servers = Readonly<Record<string, McpServerConfig>>

/** The servers of the file that `--mcp-config` names, in the form that coding agents share. */
export async function readMcpServers({ options, terminal }: Cli): Promise<Servers | undefined> {
  if (!options.mcpConfig) return undefined
  const file = options.mcpConfig
  const written = await readText(file)
  if (written.trim() === '') {
    // A command that was killed leaves the empty cover of a protected file behind.
    terminal.note(`${file} is empty: there are no MCP servers. Write them into it, or remove the file.`)
    return undefined
  }
  const content = parseObject(file, written)
  const servers = content.mcpServers ?? content.servers
  if (isRecord(servers)) return servers as Servers
  throw invalidMcpConfig(file, 'it has no "mcpServers"')
}

/** The variables that `--lend` names. One that is not set is said: a server that needs it would not be started. */
export function exposedEnvNames({ options, terminal }: Cli): string[] {
  const names = [...new Set(options.lend)]
  for (const name of names) {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      const shown = name.split('=')[0] ?? ''
      throw new TroupeError('invalid_input', `--lend ${shown}: that is no name of a variable`, {
        hint: 'give only its name, such as --lend ISSUES_TOKEN; its value is taken from the environment',
      })
    }
    if (process.env[name] === undefined) terminal.note(`--lend ${name}: the environment has no such variable`)
  }
  return names
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    throw invalidMcpConfig(file, (thrown as Error).message)
  }
}

function parseObject(file: string, content: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch (thrown) {
    throw invalidMcpConfig(file, `it is not JSON: ${(thrown as Error).message}`)
  }
  if (isRecord(value)) return value
  throw invalidMcpConfig(file, 'it is no object')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalidMcpConfig(file: string, why: string): TroupeError {
  return new TroupeError('invalid_input', `the MCP servers of ${file} cannot be read: ${why}`, {
    hint: 'such as: {"mcpServers": {"files": {"command": "npx", "args": ["-y", "PACKAGE"]}}}',
  })
}
