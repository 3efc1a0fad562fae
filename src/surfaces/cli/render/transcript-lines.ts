import { formatDuration, pluralize } from '../../../views/format-amount.ts'
import type { TranscriptEntry } from '../../../views/session-transcript.ts'
import { stripControlCharacters, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

const LABELS = {
  instruction: 'is asked',
  response: 'answers',
  call: 'calls',
  result: 'gets the result of',
  error: 'gets an error',
  question: 'asks a person',
  answer: 'gets the answer',
} as const satisfies Record<TranscriptEntry['kind'], string>

/** Whole conversations: a heading for each entry, then its text. In a pipe (`wrap` false) the lines of the text stay as they are. */
export function transcriptLines(
  entries: readonly TranscriptEntry[],
  { start, style, wrap }: { start: number; style: TerminalStyle; wrap: boolean },
): string[] {
  return entries.flatMap((entry, index) => {
    const { agent, kind, tool = '', truncated } = entry
    const preposition = kind === 'error' && tool !== '' ? 'from ' : ''
    const heading = renderLine(style, [
      ['dim', style.ascii ? '-- ' : '── '],
      ['bold', toTerminalLine(agent)],
      `${agent === '' ? '' : ' '}${LABELS[kind]}${tool === '' ? '' : ` ${preposition}${toTerminalLine(tool)}`}`,
      ['dim', `  ${formatDuration(entry.at - start)}`],
    ])
    const text = stripControlCharacters(entry.text).trimEnd().split('\n')
    const note = truncated ? [style.paint('dim', `(${pluralize(truncated, 'more character')}, not kept)`)] : []
    return [
      ...(index === 0 ? [] : ['']),
      heading,
      ...(wrap ? text.flatMap((line) => wrapText(line, style.width)) : text),
      ...note,
    ]
  })
}
