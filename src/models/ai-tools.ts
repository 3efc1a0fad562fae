import { TroupeError } from '../errors.ts'
import type { Attachment } from '../kernel/attachment.ts'
import type { Tool, ToolCall, ToolResult } from '../kernel/tool.ts'
import { isRecord } from '../schema/json-value.ts'
import type { JsonSchema, Schema } from '../schema/standard-schema.ts'

/*
 * Tools of the AI SDK as tools of Troupe, by their shape: no package of the AI SDK is loaded.
 * 1. The returned value is the output, whatever it looks like; a throw is the error of the call.
 * 2. What cannot be executed here (no `execute`, or executed by the provider) is refused by name when the troupe is created.
 */

/** A tool of the AI SDK: what its `tool()` and `dynamicTool()` return. */
export interface AiTool {
  readonly inputSchema: unknown
  readonly execute?: unknown
}

/** Tools by list, or by name: those of Troupe, or of the AI SDK. */
export type ToolsInput = readonly Tool[] | Readonly<Record<string, Tool | AiTool>>

/** Tools of the AI SDK with another `kind` than `act`, which the tools of an object have. */
export function aiTools(
  tools: Readonly<Record<string, AiTool>>,
  { kind = 'act' }: { kind?: 'read' | 'idempotent' | 'act' } = {},
): Tool[] {
  return Object.entries(tools).map(([name, tool]) => adaptTool(name, tool, kind))
}

/** The tools of an option as a list. */
export function toolList(tools: ToolsInput): readonly Tool[] {
  if (!isList(tools)) {
    return Object.entries(tools).flatMap(([name, tool]) =>
      isTool(tool) ? { ...tool, name } : aiTools({ [name]: tool }),
    )
  }
  const nameless = tools.findIndex((tool) => isRecord(tool) && 'inputSchema' in tool && !isTool(tool))
  if (nameless === -1) return tools
  throw new TroupeError('invalid_input', `\`tools[${nameless}]\` is a tool of the AI SDK, which has no name`, {
    hint: 'pass an object: tools: { NAME: tool }, or tools: [...aiTools({ NAME: tool }), …]',
  })
}

function isList(tools: ToolsInput): tools is readonly Tool[] {
  return Array.isArray(tools)
}

function isTool(tool: object): tool is Tool {
  return isRecord(tool) && 'input' in tool && 'kind' in tool
}

/** The fields that are used; they are checked before. */
interface ExecutableTool {
  type?: string
  description?: string | ((options: object) => string)
  execute(input: unknown, options: object): unknown
  needsApproval?: boolean | ((input: unknown, options: object) => boolean | PromiseLike<boolean>)
  toModelOutput?(options: object): ModelOutput | PromiseLike<ModelOutput>
}

function adaptTool(name: string, given: AiTool, kind: Tool['kind']): Tool {
  checkTool(name, given)
  const tool = given as AiTool & ExecutableTool
  const { input, validate } = readSchema(name, given.inputSchema)
  const { needsApproval, description } = tool
  return {
    name,
    description: (typeof description === 'function' ? description({ context: {} }) : description) ?? name,
    kind,
    category: kind === 'read' ? 'perception' : 'action',
    input,
    execute: async (raw: unknown, call: ToolCall) => {
      const value = await validate(raw)
      const output = await settledOutput(tool.execute(value, await executionOptions(call)), call)
      if (!tool.toModelOutput) return { success: true, output: output ?? null }
      return resultFrom(name, await tool.toModelOutput({ toolCallId: call.tool_call_id, input: value, output }))
    },
    ...(needsApproval && {
      needsApproval: async (raw: unknown, call: ToolCall) => {
        if (typeof needsApproval !== 'function') return true
        let value: unknown
        try {
          value = await validate(raw)
        } catch (thrown) {
          // Nothing to approve: `execute` fails with this error.
          if (thrown instanceof TroupeError && thrown.code === 'invalid_tool_input') return false
          throw thrown
        }
        return needsApproval.call(tool, value, await executionOptions(call))
      },
    }),
  }
}

function checkTool(name: string, tool: unknown): void {
  const { type, isProviderExecuted, execute, inputSchema } = isRecord(tool) ? tool : {}
  if (String(type).startsWith('provider') || isProviderExecuted === true) {
    throw toolError(name, 'is executed by its provider', 'leave it out: Troupe executes tools itself')
  }
  if (inputSchema === undefined || inputSchema === null) {
    throw toolError(
      name,
      'has no `inputSchema`',
      'pass what `tool()` of the AI SDK 6 or later, or `defineTool`, returns',
    )
  }
  if (typeof execute !== 'function') {
    throw toolError(name, 'has no `execute`', 'give it one; for an answer of a person, agents have `ask_user`')
  }
}

function toolError(name: string, problem: string, hint: string): TroupeError {
  return new TroupeError('invalid_input', `the tool '${name}' of \`tools\` ${problem}`, { hint })
}

interface ReadSchema {
  input: Schema
  /** The value that the schema makes of the arguments. */
  validate(value: unknown): unknown
}

/** A schema from `jsonSchema()` or `zodSchema()` of the AI SDK. */
interface AiSchema {
  jsonSchema: unknown
  validate?(value: unknown): Validation | PromiseLike<Validation>
}

type Validation = { success: true; value: unknown } | { success: false; error: Error }

const AI_SCHEMA = Symbol.for('vercel.ai.schema')

function readSchema(name: string, given: unknown): ReadSchema {
  const isLazy = typeof given === 'function' && !('~standard' in given)
  const schema = (isLazy ? given() : given) as object
  if (!isRecord(schema) || !(AI_SCHEMA in schema)) return { input: schema as Schema, validate: (value) => value }
  const { jsonSchema, validate } = schema as typeof schema & AiSchema
  if (!isRecord(jsonSchema) || typeof jsonSchema.then === 'function') {
    const hint = 'pass the JSON Schema itself, or a zod schema'
    throw toolError(name, 'has an `inputSchema` that is loaded asynchronously', hint)
  }
  return {
    input: jsonSchema as JsonSchema,
    validate: async (value) => {
      const checked = await validate?.call(schema, value)
      if (!checked) return value
      if (checked.success) return checked.value
      const message = `invalid arguments for ${name}: ${checked.error.message}`
      throw new TroupeError('invalid_tool_input', message, { hint: 'correct the arguments and call it again' })
    },
  }
}

async function executionOptions({ tool_call_id, signal, run, messages }: ToolCall): Promise<object> {
  const { toModelMessages } = await import('./call-options.ts')
  const { context } = run
  return {
    toolCallId: tool_call_id,
    abortSignal: signal,
    messages: toModelMessages(messages?.() ?? []),
    context,
    experimental_context: context,
  }
}

const MAX_PROGRESS_CHARS = 200

/** The last value of an async iterable; the ones before are progress. */
async function settledOutput(output: unknown, { signal, reportProgress }: ToolCall): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output
  let last: unknown
  for await (const value of output as AsyncIterable<unknown>) {
    signal.throwIfAborted()
    last = value
    const message = typeof value === 'string' ? value : JSON.stringify(value)
    reportProgress?.({ message: message?.slice(0, MAX_PROGRESS_CHARS) })
  }
  return last
}

/** The output of `toModelOutput`, which in version 5 of the AI SDK gets the output itself instead of an object that has it. */
interface ModelOutput {
  type: string
  value?: unknown
  reason?: string
}

interface ContentPart {
  type: string
  text?: string
  url?: string
  mediaType?: string
  filename?: string
  data?: unknown
}

function resultFrom(tool: string, { type, value, reason }: ModelOutput): ToolResult {
  if (type === 'execution-denied') return { success: false, error: reason ?? 'the tool refused the call' }
  if (type === 'error-text' || type === 'error-json')
    return { success: false, error: typeof value === 'string' ? value : JSON.stringify(value) }
  if (value === undefined && (type === 'text' || type === 'json')) {
    throw new TroupeError('tool_failed', `\`toModelOutput\` of ${tool} returned ${type} without a value`, {
      hint: 'it gets { toolCallId, input, output }, as in the AI SDK 6 and 7; that of version 5 got the output itself',
    })
  }
  if (type !== 'content' || !Array.isArray(value)) return { success: true, output: value ?? null }
  const parts = value as ContentPart[]
  const attachments = parts.flatMap(imageFrom)
  const texts = parts.filter((part) => imageFrom(part).length === 0).map(textFrom)
  return { success: true, output: texts.join('\n'), ...(attachments.length > 0 && { attachments }) }
}

/** The image of a part, in the forms of the versions 5 to 7: `media`, `image-data`, `file-data`, or `file` with tagged data. */
function imageFrom({ mediaType, filename, data }: ContentPart, index = 0): Attachment[] {
  const content = isRecord(data) && 'data' in data ? data.data : data
  if (!mediaType?.startsWith('image/') || !(typeof content === 'string' || content instanceof Uint8Array)) return []
  const base64 = typeof content === 'string' ? content : Buffer.from(content).toString('base64')
  return [{ name: filename ?? `image-${index + 1}`, media_type: mediaType, data: base64 }]
}

function textFrom({ type, text, url, filename, mediaType }: ContentPart): string {
  return text ?? url ?? `(${[filename ?? type, mediaType].filter(Boolean).join(', ')}: not shown)`
}
