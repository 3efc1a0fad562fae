import type { Event, RunRow } from '../../../index.ts'
import { withoutFileData } from '../../../views/attachment-list.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from '../../../views/format-amount.ts'
import { isPartial, partialText } from '../../../views/result-status.ts'
import type { RunView } from '../../../views/run-view.ts'
import { padToWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { WaitingRequest } from '../../../views/waiting.ts'
import { waitingText } from '../../../views/waiting.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

/** Id, status, title and usage of a run. */
export function runHeader(
  row: RunRow,
  { live, view }: { live: boolean; view: RunView },
  style: TerminalStyle,
): string[] {
  const isStopped = row.status === 'running' && !live
  const isPart = isPartial(row)
  const [textStyle, glyph] =
    STATUS_GLYPHS[isStopped ? 'pending' : isPart ? 'partial' : row.status] ?? (['dim', ''] as const)
  const status = isStopped || (row.status === 'pending' && row.epoch > 0) ? 'interrupted' : row.status
  const reason = row.stop_reason && row.stop_reason !== row.status ? ` (${row.stop_reason})` : ''
  const words = isPart ? partialText(row.stop_reason, view.run.progress) : status + reason
  const duration = row.ended_at === null ? '' : ` · ${formatDuration(row.ended_at - row.created_at)}`
  const { calls, input, output, usd } = row.usage
  const cost = usd === null ? 'unknown cost' : formatUsd(usd)
  const tokens = `${formatCount(input + output)} tokens (${formatCount(input)} in, ${formatCount(output)} out)`
  return [
    renderLine(style, [
      [textStyle, `${glyph} `],
      ['bold', row.run_id],
      `  ${row.pattern}  `,
      [textStyle, words],
      ['dim', duration],
    ]),
    ...wrapText(toTerminalLine(row.title), style.width),
    ...(row.tags.length > 0 ? wrapText(`tags: ${row.tags.join(', ')}`, style.width) : []),
    ...wrapText(`${pluralize(calls, 'call')} · ${tokens} · ${cost}`, style.width).map((text) =>
      style.paint('dim', text),
    ),
  ]
}

/** A request that an agent of a run waits for. */
export function waitingLines(
  request: WaitingRequest,
  { now, style, run_id }: { now: number; style: TerminalStyle; run_id?: string },
): string[] {
  const text = [run_id ?? '', toTerminalLine(request.agent), waitingText(request, now)].filter((part) => part !== '')
  return wrapText(text.join('  '), style.width, 2).map((line) => style.paint('yellow', line))
}

/** Notes on lost and estimated model requests. */
export function usageNotes({ costs }: RunView, style: TerminalStyle): string[] {
  const { lost, estimated } = costs.sum
  const notes: string[] = []
  if (lost.calls > 0) {
    notes.push(
      `${pluralize(lost.calls, 'model request')} lost in a crash or an abort: up to ${formatCount(lost.tokens)} reserved tokens are not included above`,
    )
  }
  if (estimated.calls > 0) {
    notes.push(
      `${pluralize(estimated.calls, 'model request')} without usable usage figures: counted at what they can have cost (estimated)`,
    )
  }
  return notes.flatMap((note) => wrapText(note, style.width, 2))
}

/** One event of the journal in one line. */
export function eventLine(event: Event, start: number, style: TerminalStyle): string {
  const data: Record<string, unknown> = { ...event.data }
  const key = typeof data.key === 'string' ? data.key : ''
  delete data.key
  const seq = padToWidth(String(event.seq), 4, 'right')
  const elapsed = padToWidth(formatDuration(event.at - start), 7, 'right')
  const rest = toTerminalLine(JSON.stringify(withoutFileData(data)))
  return renderLine(style, [
    ['dim', `${seq} ${elapsed}  `],
    ['bold', event.type],
    key ? `  ${key}` : '',
    ['dim', `  ${rest}`],
  ])
}

/** The first line of `watch` when past events are skipped. */
export function watchHeader(row: RunRow, style: TerminalStyle): string {
  const { run_id, status, title } = row
  return renderLine(style, ['watching ', ['bold', run_id], `  ${status}  `, ['dim', toTerminalLine(title)]])
}
