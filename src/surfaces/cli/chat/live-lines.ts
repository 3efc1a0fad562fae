import { activeSessions } from '../../../views/run-reducer.ts'
import type { Transcript } from '../../../views/transcript.ts'
import { isSpeechKey, nestedAgentName } from '../../../views/transcript.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { speechLines } from './chat-lines.ts'
import { partialResponseText } from './partial-response.ts'

const MAX_LIVE_LINES = 6

/** The active agents with their streamed text, at most `MAX_LIVE_LINES` lines. */
export function liveSpeechLines(
  transcript: Transcript,
  streamedText: ReadonlyMap<string, string>,
  terminalStyle: TerminalStyle,
): string[] {
  // One column less: a full line would wrap and break the redraw.
  const style = { width: terminalStyle.width - 1, paint: terminalStyle.paint }
  const speeches = activeSessions(transcript.run).map(({ session_id, key, agent }) => {
    const text = isSpeechKey(key) ? partialResponseText(streamedText.get(session_id) ?? '') : ''
    const name = nestedAgentName(transcript, key, agent)
    return speechLines(name, text.trim() === '' ? '…' : text, { style, wrapped: true, textStyle: 'cyan' })
  })
  const linesPerAgent = Math.max(1, Math.floor(MAX_LIVE_LINES / Math.max(1, speeches.length)))
  return speeches.slice(0, MAX_LIVE_LINES).flatMap(([first = '', ...rest]) => {
    if (rest.length < linesPerAgent) return [first, ...rest]
    return linesPerAgent < 3 ? [first] : [first, renderLine(style, [['dim', '  …']]), ...rest.slice(2 - linesPerAgent)]
  })
}
