import type { z } from 'zod'
import { TroupeError } from '../errors.ts'

/**
 * What repeating a call would do. `read` changes nothing; `idempotent` may be repeated under the same key; `act` must
 * never be repeated blindly; `pattern` is made of steps of its own and is entered again instead of repeated.
 */
export type ToolKind = 'read' | 'idempotent' | 'act' | 'pattern'

export type ToolCategory = 'perception' | 'action' | 'interaction' | 'planning' | 'task_management'

/** What every tool returns, whatever it does. */
export interface ToolResult {
  success: boolean
  output?: unknown
  error?: string
  /** Paths that the call created or changed. */
  files?: string[]
}

/** What a tool may know of the call it carries out. */
export interface ToolCall {
  run_id: string
  session_id: string
  agent: string
  tool_call_id: string
  /** The same for every attempt at this call, so that an outside system can refuse the second one. */
  idempotency_key: string
  /** What leave was given for, where rules look at it; a call that would touch something else must refuse. */
  subject?: string
  /** Patterns of files that rules keep from this call: a search leaves them out. */
  excluded_globs?: readonly string[]
  /** The agent has no other way to write: nor may this call. */
  read_only?: true
  signal: AbortSignal
}

/** What an agent sees of a tool, and what the runtime needs to know before it calls it. */
export interface ToolMetadata {
  name: string
  description: string
  input: z.ZodType
  category: ToolCategory
  /** True for tools that change files as their purpose. */
  edits?: true
  /** After this the call is answered as timed out and its signal aborted. */
  timeout_ms?: number
  /** Only for agents that bring it along, and for those they call. */
  agent_provided?: true
}

export interface ToolDefinition<Input> extends ToolMetadata {
  input: z.ZodType<Input>
  kind: 'read' | 'idempotent' | 'act'
  execute(input: Input, call: ToolCall): Promise<ToolResult> | ToolResult
  /** What a call is about, for permission rules: a path, a command, an address. */
  subject?(input: Input): string
  /**
   * For `act`: asked after a crash between begin and end. Looks, without acting, whether the call had taken effect:
   * its result if it had, `undefined` if it surely had not. Throwing means that nobody knows.
   */
  recover?(input: Input, call: ToolCall): Promise<ToolResult | undefined> | ToolResult | undefined
}

/** A tool whose input type is forgotten: inputs are checked against its schema before they reach it. */
export interface Tool extends ToolMetadata, Pick<ToolDefinition<never>, 'kind' | 'execute' | 'recover' | 'subject'> {}

export function defineTool<Input>(tool: ToolDefinition<Input>): Tool {
  if (!/^[A-Za-z0-9_.:-]{1,64}$/.test(tool.name)) {
    throw new TroupeError('invalid_input', `'${tool.name}' is not a tool name`, {
      hint: 'use 1 to 64 letters, digits, or _ . : -',
    })
  }
  return tool
}
