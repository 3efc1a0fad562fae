import { activeSessions } from '../../../views/run-reducer.ts'
import type { Transcript } from '../../../views/transcript.ts'
import { isSpeechKey, nestedAgentName } from '../../../views/transcript.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { speechLines } from './chat-lines.ts'
import { partialResponseText } from './partial-response.ts'

const MAX_LIVE_LINES = 6

/** Who is at work, with what they have said so far; never more than a few lines. */
export function liveSpeechLines(
  transcript: Transcript,
  words: ReadonlyMap<string, string>,
  at: TerminalStyle,
): string[] {
  const style = { width: at.width - 1, paint: at.paint }
  const shown = activeSessions(transcript.run).map(({ session_id, key, agent }) => {
    const said = isSpeechKey(key) ? partialResponseText(words.get(session_id) ?? '') : ''
    const name = nestedAgentName(transcript, key, agent)
    return speechLines(name, said.trim() === '' ? '…' : said, { style, wrapped: true, textStyle: 'cyan' })
  })
  const each = Math.max(1, Math.floor(MAX_LIVE_LINES / Math.max(1, shown.length)))
  return shown.slice(0, MAX_LIVE_LINES).flatMap(([first = '', ...rest]) => {
    if (rest.length < each) return [first, ...rest]
    return each < 3 ? [first] : [first, renderLine(style, [['dim', '  …']]), ...rest.slice(2 - each)]
  })
}
