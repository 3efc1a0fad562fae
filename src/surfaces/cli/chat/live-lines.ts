import type { Transcript } from '../../../patterns/team/transcript.ts'
import { isMessageKey, nestedAgentName } from '../../../patterns/team/transcript.ts'
import { activeSessions } from '../../../views/run-view.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { messageLines } from './chat-lines.ts'

const MAX_LIVE_LINES = 6

/** The active agents with their streamed text, at most `MAX_LIVE_LINES` lines. */
export function liveMessageLines(
  transcript: Transcript,
  streamedText: ReadonlyMap<string, string>,
  terminalStyle: TerminalStyle,
): string[] {
  // One column less: a full line would wrap and break the redraw.
  const style = { width: terminalStyle.width - 1, paint: terminalStyle.paint }
  const messages = activeSessions(transcript.run).map(({ session_id, key, agent }) => {
    const text = isMessageKey(key) ? partialResponseText(streamedText.get(session_id) ?? '') : ''
    const name = nestedAgentName(transcript, key, agent)
    return messageLines(name, text.trim() === '' ? '…' : text, { style, wrapped: true, textStyle: 'cyan' })
  })
  const linesPerAgent = Math.max(1, Math.floor(MAX_LIVE_LINES / Math.max(1, messages.length)))
  return messages.slice(0, MAX_LIVE_LINES).flatMap(([first = '', ...rest]) => {
    if (rest.length < linesPerAgent) return [first, ...rest]
    return linesPerAgent < 3 ? [first] : [first, renderLine(style, [['dim', '  …']]), ...rest.slice(2 - linesPerAgent)]
  })
}

/* Streams structured output: extracts the `response` text from an incomplete JSON object. */

const FENCE = /^\s*(?:```(?:json)?\s*)?/
const RESPONSE = /"response"\s*:\s*"/

/** The `response` of an unfinished object, or plain text as it is; empty before the field has started. */
export function partialResponseText(text: string): string {
  const plain = text.replace(FENCE, '')
  if (!plain.startsWith('{')) return text
  const found = RESPONSE.exec(plain)
  return found ? decodeJsonString(plain.slice(found.index + found[0].length)) : ''
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '', b: '', f: '' }
const PIECE = /\\u([0-9a-fA-F]{4})|\\(.)|([^"\\]+)/gsy

/** Decodes a JSON string up to its closing quote or the end of input. */
function decodeJsonString(text: string): string {
  let decoded = ''
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(text); piece; piece = PIECE.exec(text)) {
    const [, code, escaped, plain] = piece
    if (plain !== undefined) decoded += plain
    else if (code !== undefined) decoded += String.fromCharCode(Number.parseInt(code, 16))
    else if (escaped !== undefined) decoded += ESCAPES[escaped] ?? escaped
  }
  // The second half of a surrogate pair has not arrived yet.
  return decoded.replace(/[\ud800-\udbff]$/, '')
}
