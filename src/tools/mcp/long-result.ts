import { shortHash } from '../../kernel/hash.ts'
import type { ToolCall, ToolResult } from '../../kernel/tool.ts'
import { OUTPUT_FOLDER, TROUPE_FOLDER } from '../files/check-protected.ts'
import { replaceState } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'

/** About 25,000 tokens of a result go to the model. */
const MAX_RESULT_BYTES = 100_000
/** Bounds the file of one result (resource exhaustion). */
const MAX_FILE_CHARS = 8 * 1024 * 1024
/** `Read` shortens longer lines. */
const MAX_LINE_CHARS = 1900

/** A result that fits into a conversation. The whole of a longer one is in a file of the workspace, for `Read`. */
export async function limitResult(
  result: ToolResult,
  call: Pick<ToolCall, 'idempotency_key'>,
  workspace: Workspace | undefined,
): Promise<ToolResult> {
  const { output } = result
  const text = typeof output === 'string' ? output : (JSON.stringify(output, undefined, 1) ?? '')
  if (Buffer.byteLength(text) <= MAX_RESULT_BYTES) return result
  const shown = firstBytes(text, MAX_RESULT_BYTES)
  const notes = [`the first ${shown.length} of ${text.length} characters`]
  if (workspace) notes.push(`read the rest with Read: ${await keepResult(workspace, call.idempotency_key, text)}`)
  else notes.push('request a smaller part')
  return { ...result, output: `${shown}\n[${notes.join('; ')}]` }
}

function firstBytes(text: string, bytes: number): string {
  const part = new TextDecoder().decode(Buffer.from(text.slice(0, bytes)).subarray(0, bytes)).replace(/\ufffd+$/, '')
  const tail = part.slice(-MAX_WORD_CHARS)
  const end = tail.match(LAST_END)?.[0].length ?? tail.length
  return part.slice(0, part.length - tail.length + end)
}

async function keepResult(workspace: Workspace, key: string, text: string): Promise<string> {
  const file = [OUTPUT_FOLDER, `mcp-${shortHash(key + text)}.txt`]
  await replaceState(workspace, file, wrapLines(text.slice(0, MAX_FILE_CHARS)))
  return [TROUPE_FOLDER, ...file].join('/')
}

function wrapLines(text: string): string {
  return text
    .split('\n')
    .flatMap((line) => line.match(LINE_PART) ?? [''])
    .join('\n')
}

/*
 * Secrets are recognised when a result becomes a message, and only as a whole: a text is not cut within a word, nor between a name and its value.
 */
const MAX_WORD_CHARS = 4096
const END = '(?:[,;}\\])>]|(?<![:=])\\s)'
const LAST_END = new RegExp(`^.*${END}`, 'su')
const LINE_PART = new RegExp(`.{1,${MAX_LINE_CHARS}}$|.{0,${MAX_LINE_CHARS - 1}}${END}|.{1,${MAX_LINE_CHARS}}`, 'gsu')
