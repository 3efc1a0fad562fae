import type { Event, RunRow } from '../../../index.ts'
import type { RunView } from '../../../views/run-view.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from './format-amount.ts'
import { STATUS_GLYPHS } from './run-tree.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { padToWidth, toTerminalLine, wrapText } from './text-width.ts'

/** What a run is and how it stands, in a few lines. */
export function runHeader(row: RunRow, live: boolean, style: TerminalStyle): string[] {
  const stopped = row.status === 'running' && !live
  const [textStyle, glyph] = STATUS_GLYPHS[stopped ? 'pending' : row.status] ?? (['dim', ''] as const)
  const status = row.status === 'pending' && row.epoch > 0 ? 'interrupted' : stopped ? 'broken off' : row.status
  const why = row.stop_reason && row.stop_reason !== row.status ? ` (${row.stop_reason})` : ''
  const took = row.ended_at === null ? '' : ` · ${formatDuration(row.ended_at - row.created_at)}`
  const { calls, input, output, usd } = row.usage
  const cost = usd === null ? 'cost unknown' : formatUsd(usd)
  const tokens = `${formatCount(input + output)} tokens (${formatCount(input)} in, ${formatCount(output)} out)`
  return [
    renderLine(style, [
      [textStyle, `${glyph} `],
      ['bold', row.run_id],
      `  ${row.pattern}  `,
      [textStyle, status + why],
      ['dim', took],
    ]),
    ...wrapText(toTerminalLine(row.title), style.width),
    ...wrapText(`${pluralize(calls, 'call')} · ${tokens} · ${cost}`, style.width).map((text) =>
      style.paint('dim', text),
    ),
  ]
}

/** What the figures do not say by themselves. */
export function usageNotes({ lost, estimated }: RunView, style: TerminalStyle): string[] {
  const notes: string[] = []
  if (lost.calls > 0) {
    notes.push(
      `${pluralize(lost.calls, 'model call')} lost in a crash or an abort: up to ${formatCount(lost.tokens)} tokens were set aside and are not in the figures above`,
    )
  }
  if (estimated > 0) {
    notes.push(
      `${pluralize(estimated, 'model call')} came without usage; counted at the most it can have been (estimated)`,
    )
  }
  return notes.flatMap((note) => wrapText(note, style.width, 2))
}

/** One line of a journal. */
export function eventLine(event: Event, start: number, style: TerminalStyle): string {
  const data: Record<string, unknown> = { ...event.data }
  const key = typeof data.key === 'string' ? data.key : ''
  delete data.key
  const seq = padToWidth(String(event.seq), 4, 'right')
  const at = padToWidth(formatDuration(event.at - start), 7, 'right')
  const rest = toTerminalLine(JSON.stringify(data))
  return renderLine(style, [
    ['dim', `${seq} ${at}  `],
    ['bold', event.type],
    key ? `  ${key}` : '',
    ['dim', `  ${rest}`],
  ])
}

/** The first line of watching in the middle of things. */
export function watchHeader(row: RunRow, style: TerminalStyle): string {
  const { run_id, status, title } = row
  return renderLine(style, ['watching ', ['bold', run_id], `  ${status}  `, ['dim', toTerminalLine(title)]])
}
