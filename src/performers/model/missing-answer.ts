import { escapeTemplateMarks } from '../../kernel/template-marks.ts'
import { hasWords } from '../../requests/shown-marks.ts'

/*
 * Texts that are not an answer, although the model sent some: nothing, only marks of a chat template, or a tool call written as
 * text, which weak models and servers without a tool-call parser produce. They must not pass for a result.
 */

export type MissingAnswer = 'empty' | 'marks' | 'tool-call'

/** The role that follows an opening mark: `<|im_start|>assistant`. */
const ROLE_HEADER = /(<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>)(?:system|user|assistant|model|tool)\b/g
/** Control and format characters, such as a zero-width space or a byte order mark. */
const INVISIBLE = /[\p{Cc}\p{Cf}]/gu

/** Why the text of a last message is not an answer; `undefined` if it is one. `tools` are the names of the offered tools. */
export function missingAnswer(text: string, tools: readonly string[] = []): MissingAnswer | undefined {
  if (text.replace(INVISIBLE, '').trim() === '') return 'empty'
  if (isToolCallText(text.trim(), tools)) return 'tool-call'
  return isOnlyMarks(text) ? 'marks' : undefined
}

function isOnlyMarks(text: string): boolean {
  const marks = text.replace(ROLE_HEADER, '$1')
  return !hasWords(marks) && escapeTemplateMarks(marks) !== marks
}

/** Notations of tool calls in texts: how a call begins, and how it ends if it is complete. */
const CALL_NOTATIONS: readonly (readonly [open: string, close: string])[] = [
  ['<tool_call>', '</tool_call>'],
  ['<function_call>', '</function_call>'],
  ['<function_calls>', '</function_calls>'],
  ['<function=', '</function>'],
  ['<|tool_call|>', '<|/tool_call|>'],
  ['<|python_tag|>', '<|eom_id|>'],
  ['[TOOL_CALLS]', '</s>'],
  ['```json', '```'],
  ['```tool_call', '```'],
  ['```', '```'],
]

/**
 * Whether a text is a tool call, or ends with the call of an offered tool. A call within a text is quoted, not meant: an answer may
 * explain how to call a tool.
 */
function isToolCallText(text: string, tools: readonly string[]): boolean {
  if (isCallObject(parseJson(text))) return true
  return CALL_NOTATIONS.some(([open, close]) => {
    const isClosed = text.endsWith(close)
    const end = isClosed ? text.length - close.length : text.length
    const start = text.lastIndexOf(open, end - 1)
    // Text follows the call: it is quoted.
    if (start < 0 || (!isClosed && text.includes(close, start + open.length))) return false
    const name = calledTool(open, text.slice(start + open.length, end).trim())
    return name !== undefined && (text.startsWith(open) || tools.includes(name))
  })
}

function calledTool(open: string, body: string): string | undefined {
  const parsed = parseJson(body)
  const call: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  if (isCallObject(call)) return callName(call)
  // A fence may hold any text or object; a tag of calls holds calls, perhaps cut off.
  if (open.startsWith('```')) return undefined
  const head = body.slice(0, 500)
  return (/^([\w.-]+)\s*>/.exec(head) ?? /["\s](?:name|tool|function)"?\s*[:=]\s*"([^"]+)"/.exec(head))?.[1]
}

const NAME_KEYS = ['name', 'tool', 'tool_name', 'function', 'action']
const ARGUMENT_KEYS = ['arguments', 'parameters', 'args', 'input', 'tool_input', 'action_input']
const OTHER_KEYS = ['id', 'type']
const CALL_KEYS = new Set([...NAME_KEYS, ...ARGUMENT_KEYS, ...OTHER_KEYS])

/** An object with the name and the arguments of a call, and nothing else. */
function isCallObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const fields = value as Record<string, unknown>
  const hasArguments = ARGUMENT_KEYS.some((key) => typeof fields[key] === 'object' && fields[key] !== null)
  return hasArguments && callName(fields) !== undefined && Object.keys(fields).every((key) => CALL_KEYS.has(key))
}

function callName(fields: Readonly<Record<string, unknown>>): string | undefined {
  return NAME_KEYS.map((key) => fields[key]).find((name) => typeof name === 'string')
}

function parseJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
