import type { Look } from '../render/line.ts'
import { line } from '../render/line.ts'
import { atWork } from '../render/story.ts'
import { speech } from './lines.ts'
import type { Transcript } from './transcript.ts'
import { labelled, speaks } from './transcript.ts'
import { saidSoFar } from './words.ts'

const LIVE_LINES = 6

/** Who is at work, with what they have said so far; never more than a few lines. */
export function speakingLines(transcript: Transcript, words: ReadonlyMap<string, string>, at: Look): string[] {
  const look = { width: at.width - 1, paint: at.paint }
  const shown = atWork(transcript.story).map(({ session_id, key, agent }) => {
    const said = speaks(key) ? saidSoFar(words.get(session_id) ?? '') : ''
    const name = labelled(transcript, key, agent)
    return speech(name, said.trim() === '' ? '…' : said, { look, wrapped: true, style: 'cyan' })
  })
  const each = Math.max(1, Math.floor(LIVE_LINES / Math.max(1, shown.length)))
  return shown.slice(0, LIVE_LINES).flatMap(([first = '', ...rest]) => {
    if (rest.length < each) return [first, ...rest]
    return each < 3 ? [first] : [first, line(look, [['dim', '  …']]), ...rest.slice(2 - each)]
  })
}
