import type { Event, RunRow } from '../../../index.ts'
import { counted, duration, exact, money } from './amounts.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import type { Story } from './story-parts.ts'
import { GLYPHS } from './tree.ts'
import { oneLine, sized, wrap } from './width.ts'

/** What a run is and how it stands, in a few lines. */
export function runHeader(row: RunRow, live: boolean, look: Look): string[] {
  const stopped = row.status === 'running' && !live
  const [style, glyph] = GLYPHS[stopped ? 'pending' : row.status] ?? (['dim', ''] as const)
  const status = row.status === 'pending' && row.epoch > 0 ? 'interrupted' : stopped ? 'broken off' : row.status
  const why = row.stop_reason && row.stop_reason !== row.status ? ` (${row.stop_reason})` : ''
  const took = row.ended_at === null ? '' : ` · ${duration(row.ended_at - row.created_at)}`
  const { calls, input, output, usd } = row.usage
  const cost = usd === null ? 'cost unknown' : money(usd)
  const tokens = `${exact(input + output)} tokens (${exact(input)} in, ${exact(output)} out)`
  return [
    line(look, [
      [style, `${glyph} `],
      ['bold', row.run_id],
      `  ${row.pattern}  `,
      [style, status + why],
      ['dim', took],
    ]),
    ...wrap(oneLine(row.title), look.width),
    ...wrap(`${counted(calls, 'call')} · ${tokens} · ${cost}`, look.width).map((text) => look.paint('dim', text)),
  ]
}

/** What the figures do not say by themselves. */
export function usageNotes({ lost, estimated }: Story, look: Look): string[] {
  const notes: string[] = []
  if (lost.calls > 0) {
    notes.push(
      `${counted(lost.calls, 'model call')} lost in a crash or an abort: up to ${exact(lost.tokens)} tokens were set aside and are not in the figures above`,
    )
  }
  if (estimated > 0) {
    notes.push(
      `${counted(estimated, 'model call')} came without usage; counted at the most it can have been (estimated)`,
    )
  }
  return notes.flatMap((note) => wrap(note, look.width, 2))
}

/** One line of a journal. */
export function eventLine(event: Event, start: number, look: Look): string {
  const data: Record<string, unknown> = { ...event.data }
  const key = typeof data.key === 'string' ? data.key : ''
  delete data.key
  const seq = sized(String(event.seq), 4, 'right')
  const at = sized(duration(event.at - start), 7, 'right')
  const rest = oneLine(JSON.stringify(data))
  return line(look, [['dim', `${seq} ${at}  `], ['bold', event.type], key ? `  ${key}` : '', ['dim', `  ${rest}`]])
}

/** The first line of watching in the middle of things. */
export function watchedLine(row: RunRow, look: Look): string {
  const { run_id, status, title } = row
  return line(look, ['watching ', ['bold', run_id], `  ${status}  `, ['dim', oneLine(title)]])
}
