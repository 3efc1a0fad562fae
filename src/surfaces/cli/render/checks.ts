import type { Look, Style } from './line.ts'
import { oneLine, sized, wrap } from './width.ts'

export interface Check {
  what: string
  state: 'ok' | 'note' | 'bad'
  words: string
  hint: string
}

const SIGNS: Record<Check['state'], readonly [Style, string]> = {
  ok: ['green', '✓'],
  note: ['yellow', '!'],
  bad: ['red', '✗'],
}

const NAME = 9

export function checkLines(checks: readonly Check[], look: Look): string[] {
  return checks.flatMap(({ what, state, words, hint }) => {
    const [style, sign] = SIGNS[state]
    const margin = NAME + 3
    const said = wrap(`${' '.repeat(margin)}${oneLine(words)}`, look.width, margin)
    const first = `${look.paint(style, sign)} ${sized(what, NAME)} ${(said[0] ?? '').slice(margin)}`
    const advice = hint === '' ? [] : wrap(`${' '.repeat(margin)}${hint}`, look.width, margin)
    return [first, ...said.slice(1), ...advice.map((text) => look.paint('dim', text))]
  })
}
