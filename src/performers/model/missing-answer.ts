import { TroupeError } from '../../errors.ts'
import type { StopReason } from '../../kernel/event.ts'
import { textFrom } from '../../kernel/model.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'
import { lastText } from '../../kernel/session/session-state.ts'
import type { TurnEnd, TurnScope } from '../../kernel/session/turn-scope.ts'
import { escapeTemplateMarks } from '../../kernel/template-marks.ts'
import { hasWords } from '../../requests/shown-marks.ts'
import { isRecord, parseJson } from '../../schema/json-value.ts'

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
  if (isCallObject(parseCall(text))) return true
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
  const parsed = parseCall(body)
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
  if (!isRecord(value)) return false
  const hasArguments = ARGUMENT_KEYS.some((key) => typeof value[key] === 'object' && value[key] !== null)
  return hasArguments && callName(value) !== undefined && Object.keys(value).every((key) => CALL_KEYS.has(key))
}

function callName(fields: Readonly<Record<string, unknown>>): string | undefined {
  return NAME_KEYS.map((key) => fields[key]).find((name) => typeof name === 'string')
}

function parseCall(text: string): unknown {
  return /^[[{]/.test(text) ? parseJson(text) : undefined
}

const MAX_EXCERPT_CHARS = 80

interface LastMessage {
  turnKey: string
  missing: MissingAnswer
  stop_reason: StopReason
}

/**
 * The end of a session whose last message has no answer although it was asked for one again: its last answer in words, or a failure. Only
 * an object is an answer where one was requested.
 */
export function toMissingAnswerEnd(
  { session, output, allowText }: Pick<TurnScope, 'session' | 'output' | 'allowText'>,
  { turnKey, missing, stop_reason }: LastMessage,
): TurnEnd {
  const text = lastAnswer(session)
  if (text !== '' && (!output || allowText)) return { stop_reason, text, error: null }
  const { name } = session.opening.agent
  const { fact, hint } = describe(missing, excerpt(lastText(session)))
  const error = new TroupeError('model_invalid_response', `${name} ${fact} (stop_reason ${stop_reason})`, {
    hint,
    step: `${turnKey}/model`,
  })
  return { stop_reason, text, error }
}

/** The newest text since the last instruction that is an answer. */
function lastAnswer({ messages, responseStart }: SessionState): string {
  const texts = messages
    .slice(responseStart)
    .flatMap((message) => (message.role === 'assistant' ? [textFrom(message)] : []))
  return texts.findLast((text) => missingAnswer(text) === undefined) ?? ''
}

function describe(missing: MissingAnswer, last: string): { fact: string; hint: string } {
  if (missing === 'tool-call') {
    return {
      fact: `wrote a tool call as text instead of an answer: ${last}`,
      hint: 'choose a `model` that supports tools, or enable the tool-call parser of the server',
    }
  }
  if (missing === 'marks') {
    return {
      fact: `gave no answer, only marks of a chat template: ${last}`,
      hint: 'check the chat template of the server, or choose another `model`',
    }
  }
  return {
    fact: 'gave an empty answer',
    hint: 'resume to request the final answer again; for more turns raise `max_turns` of the agent or `limits.turns`',
  }
}

function excerpt(text: string): string {
  const line = text.trim().slice(0, 400).replaceAll(/\s+/g, ' ')
  return line.length > MAX_EXCERPT_CHARS ? `${line.slice(0, MAX_EXCERPT_CHARS - 1).toWellFormed()}…` : line
}
