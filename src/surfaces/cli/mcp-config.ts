import { readFile } from 'node:fs/promises'
import { TroupeError } from '../../errors.ts'
import type { McpServerConfig } from '../../index.ts'
import type { Cli } from './cli.ts'

type Servers = Readonly<Record<string, McpServerConfig>>

/** The servers of the file that `--mcp-config` names, in the form that coding agents share. */
export async function mcpServers({ options }: Cli): Promise<Servers | undefined> {
  if (!options.mcpConfig) return undefined
  const file = options.mcpConfig
  const content = parsed(file, await text(file))
  const servers = content.mcpServers ?? content.servers
  if (isMap(servers)) return servers as Servers
  throw unusable(file, 'it has no "mcpServers"')
}

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    throw unusable(file, (thrown as Error).message)
  }
}

function parsed(file: string, content: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch (thrown) {
    throw unusable(file, `it is not JSON: ${(thrown as Error).message}`)
  }
  if (isMap(value)) return value
  throw unusable(file, 'it is no object')
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unusable(file: string, why: string): TroupeError {
  return new TroupeError('invalid_input', `the MCP servers of ${file} cannot be read: ${why}`, {
    hint: 'such as: {"mcpServers": {"files": {"command": "npx", "args": ["-y", "PACKAGE"]}}}',
  })
}
