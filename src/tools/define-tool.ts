import { TroupeError } from '../errors.ts'
import type { Tool, ToolCall, ToolCategory, ToolDefinition, ToolKind } from '../kernel/tool.ts'
import { schemaKind } from '../schema/standard-schema.ts'

/** A tool as programs write it. */
export interface OwnTool<Input> extends Omit<ToolDefinition<Input>, 'category' | 'execute'> {
  /** Default: `perception` for a tool that only reads, otherwise `action`. */
  category?: ToolCategory
  /** Its value is the output, unless that has a boolean `success`: then it is a `ToolResult`. A thrown error fails the call. */
  execute(input: Input, call: ToolCall): unknown
}

export function defineTool<Input>(own: OwnTool<Input>): Tool {
  const category = own.category ?? (own.kind === 'read' ? 'perception' : 'action')
  // The loop takes any returned value.
  const tool = (own.category === undefined ? { ...own, category } : own) as ToolDefinition<Input>
  if (!/^[A-Za-z0-9_.:-]{1,64}$/.test(tool.name)) {
    throw new TroupeError('invalid_input', `\`name\` of a tool is invalid: '${tool.name}'`, {
      hint: 'use 1 to 64 letters, digits, or _ . : -',
    })
  }
  schemaKind(tool.input, `\`input\` of the tool '${tool.name}'`)
  checkToolFields(tool)
  return tool
}

const TOOL_KINDS: readonly unknown[] = ['read', 'idempotent', 'act'] satisfies ToolKind[]
const TOOL_CATEGORIES: readonly unknown[] = [
  'perception',
  'action',
  'interaction',
  'planning',
  'task_management',
] satisfies ToolCategory[]

/** Prevents a tool that fails open in a program without types: a `kind` that nobody knows is never asked for, and repeated after a crash. */
export function checkToolFields({
  name,
  kind,
  category,
  execute,
}: Pick<Tool, 'name' | 'kind' | 'category' | 'execute'>): void {
  if (!TOOL_KINDS.includes(kind)) {
    throw new TroupeError(
      'invalid_input',
      `\`kind\` of the tool '${name}' is ${JSON.stringify(kind)}; known: ${TOOL_KINDS.join(', ')}`,
      {
        hint: "use 'act' for a tool that changes something; see docs/guide/tools.md",
      },
    )
  }
  if (!TOOL_CATEGORIES.includes(category)) {
    throw new TroupeError('invalid_input', `\`category\` of the tool '${name}' is ${JSON.stringify(category)}`, {
      hint: `use one of ${TOOL_CATEGORIES.join(', ')}`,
    })
  }
  if (typeof execute !== 'function') {
    throw new TroupeError('invalid_input', `\`execute\` of the tool '${name}' is not a function`, {
      hint: 'pass execute(input, call), which returns { success, output } or { success: false, error }',
    })
  }
}
