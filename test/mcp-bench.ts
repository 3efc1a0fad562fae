import { onTestFinished } from 'vitest'
import type { Tool, ToolResult } from '../src/kernel/tool.ts'
import type { Mcp, McpOptions } from '../src/tools/mcp/mcp.ts'
import { createMcp } from '../src/tools/mcp/mcp.ts'
import { wallClock } from '../src/tools/wall-clock.ts'
import { agent } from './stage.ts'

/** Servers without a troupe around them. */
export interface Bench {
  mcp: Mcp
  warned: string[]
  /** Calls a tool as the kernel would, with the input as a model wrote it. */
  call(name: string, input?: unknown, signal?: AbortSignal): Promise<ToolResult>
}

export const ANYONE = agent('anyone')

/** As a configuration writes it. */
export const variable = (name: string) => `\${${name}}`

export function bench(servers: McpOptions['servers'], more: Partial<McpOptions> = {}): Bench {
  const warned: string[] = []
  const warn = (problem: string) => void warned.push(problem)
  const mcp = createMcp({ servers, world: wallClock, env: process.env, unconfined: true, warn, ...more })
  onTestFinished(() => mcp.close())
  return {
    mcp,
    warned,
    async call(name, input = {}, signal = new AbortController().signal) {
      const tool = mcp.tools.get(name) as Tool
      return tool.execute(tool.input.parse(input) as never, { signal } as never)
    },
  }
}
