import { readFile } from 'node:fs/promises'
import { TroupeError } from '../../errors.ts'
import type { McpServerConfig } from '../../index.ts'
import type { Cli } from './cli.ts'

type Servers = Readonly<Record<string, McpServerConfig>>

/** The servers of the `--mcp-config` file, in the common `mcpServers` format. */
export async function readMcpServers({ options, terminal }: Cli): Promise<Servers | undefined> {
  if (!options.mcpConfig) return undefined
  const file = options.mcpConfig
  const text = await readText(file)
  if (text.trim() === '') {
    // A killed sandboxed command can leave an empty mount point in place of a protected file.
    terminal.note(`--mcp-config ${file} is empty: no MCP servers are configured. Add servers or delete the file.`)
    return undefined
  }
  const content = parseObject(file, text)
  const servers = content.mcpServers ?? content.servers
  if (isRecord(servers)) return servers as Servers
  throw invalidMcpConfig(file, 'the field "mcpServers" is missing')
}

/** The names given with `--expose-env`. Warns about variables that are not set. */
export function exposedEnvNames({ options, terminal }: Cli): string[] {
  const names = [...new Set(options.exposeEnv)]
  for (const name of names) {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      // The text after `=` may be a secret.
      const shown = name.split('=')[0] ?? ''
      throw new TroupeError('invalid_input', `--expose-env ${shown}: not a valid variable name`, {
        hint: 'pass only the name, such as --expose-env ISSUES_TOKEN; the value comes from the environment',
      })
    }
    if (process.env[name] === undefined) terminal.note(`--expose-env ${name}: the variable is not set`)
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
    throw invalidMcpConfig(file, `invalid JSON: ${(thrown as Error).message}`)
  }
  if (isRecord(value)) return value
  throw invalidMcpConfig(file, 'not an object')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalidMcpConfig(file: string, reason: string): TroupeError {
  return new TroupeError('invalid_input', `--mcp-config ${file} cannot be read: ${reason}`, {
    hint: 'example: {"mcpServers": {"files": {"command": "npx", "args": ["-y", "PACKAGE"]}}}',
  })
}
