import { onTestFinished } from 'vitest'
import type { Tool, ToolResult } from '../../src/kernel/tool.ts'
import { parseValue } from '../../src/schema/schema.ts'
import type { McpServers, McpServersOptions } from '../../src/tools/mcp/mcp-servers.ts'
import { createMcpServers } from '../../src/tools/mcp/mcp-servers.ts'
import { SLOW_START_MS } from '../../src/tools/mcp/server-timeout.ts'
import { wallClock } from '../../src/tools/tools.ts'
import { agent } from './test-troupe.ts'

/** MCP servers without a troupe. */
export interface McpHarness {
  mcp: McpServers
  warnings: string[]
  /** Calls a tool with the input of a model, as the kernel does. */
  call(name: string, input?: unknown, signal?: AbortSignal): Promise<ToolResult>
}

export const TEST_AGENT = agent('anyone')

/** An environment variable placeholder in a server configuration. */
export const envPlaceholder = (name: string) => `\${${name}}`

/** On a busy machine a server takes seconds to start: the notice about it depends on the load and would be among the warnings. */
const patientClock: typeof wallClock = {
  sleep: (ms, signal) => wallClock.sleep(ms === SLOW_START_MS ? 2_147_483_647 : ms, signal),
}

export function createMcpHarness(
  servers: McpServersOptions['servers'],
  more: Partial<McpServersOptions> = {},
): McpHarness {
  const warnings: string[] = []
  const warn = (message: string) => void warnings.push(message)
  const mcp = createMcpServers({ servers, world: patientClock, env: process.env, unconfined: true, warn, ...more })
  onTestFinished(() => mcp.close())
  return {
    mcp,
    warnings,
    async call(name, input = {}, signal = new AbortController().signal) {
      const tool = mcp.tools.get(name) as Tool
      return tool.execute(parseValue(tool.input, input) as never, { signal, idempotency_key: 'test' } as never)
    },
  }
}
