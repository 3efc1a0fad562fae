import { capitalize, formatDuration, formatTime } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import type { Hit } from './hit-test.ts'
import type { Frame } from './lane-frame.ts'

/* Tooltips: what, when, how long. */

export interface TooltipText {
  title: string
  /** When and how long. */
  note: string
}

export function tooltipText(frame: Frame, hit: Hit): TooltipText | null {
  const { store } = frame
  if (hit.gap) {
    return { title: `${formatDuration(hit.gap.to - hit.gap.from)} idle, collapsed`, note: 'Click to expand' }
  }
  const phase = hit.phase === undefined ? undefined : store.get('phases', hit.phase)
  if (phase) return { title: inertLine(phase.title), note: when(phase, frame.now) }
  const text = hit.link !== undefined ? linkText(frame, hit.link) : refText(frame, hit)
  return text ?? bandText(frame, hit)
}

interface Span {
  started_at: number
  ended_at: number | null
}

function when({ started_at, ended_at }: Span, now: number): string {
  const duration = formatDuration((ended_at ?? now) - started_at)
  return `${formatTime(started_at)}, ${ended_at === null ? `for ${duration}` : duration}`
}

function bandText(frame: Frame, { band }: Hit): TooltipText | null {
  if (!band) return null
  const ended_at = band.to === Infinity ? null : band.to
  return { title: inertLine(band.text), note: when({ started_at: band.from, ended_at }, frame.now) }
}

function linkText({ store, now }: Frame, id: string): TooltipText | null {
  const link = store.get('links', id)
  if (!link) return null
  const name = (lane: string | null) =>
    lane === null ? 'the run' : inertLine(store.get('lanes', lane)?.label ?? lane, 40)
  const kind = capitalize(link.kind)
  const label = link.label === '' ? '' : `: ${inertLine(link.label, 200)}`
  return { title: `${kind}, ${name(link.from)} to ${name(link.to)}${label}`, note: when(link, now) }
}

function refText(frame: Frame, { ref, calls, lane }: Hit): TooltipText | null {
  const { store, now } = frame
  if (ref === null) return null
  if (ref.kind === 'call') {
    const rows = (calls ?? [ref.id]).flatMap((id) => store.get('calls', id) ?? [])
    const [first] = rows
    if (!first) return null
    const failed = rows.filter(({ status }) => status === 'failed').length
    const words = `${first.tool} ${first.target}`.trim()
    const more = rows.length > 1 ? ` and ${rows.length - 1} more` : ''
    const note = failed > 0 ? `${when(first, now)}, ${first.error ?? `${failed} failed`}` : when(first, now)
    return { title: inertLine(`${words}${more}`, 200), note: inertLine(note, 200) }
  }
  if (ref.kind === 'turn') {
    const turn = store.get('turns', ref.id)
    const count =
      frame.rows.byLane.get(lane ?? '')?.columns.calls.rows.filter((call) => call.turn === ref.id).length ?? 0
    const words = `${when(turn ?? { started_at: 0, ended_at: 0 }, now)}, ${count} ${count === 1 ? 'call' : 'calls'}`
    return turn ? { title: inertLine(turn.title, 200) || `Turn ${turn.number}`, note: words } : null
  }
  if (ref.kind === 'session') {
    const session = store.get('sessions', ref.id)
    const vote = session?.vote ? `, ${session.vote.won === false ? 'dissent' : 'vote'}: ${session.vote.text}` : ''
    const result = session?.result ? `: ${session.result}` : ''
    return session
      ? { title: inertLine(`${session.title}${result}${vote}`, 200), note: `${session.status}, ${when(session, now)}` }
      : null
  }
  if (ref.kind === 'gate') {
    const gate = store.get('gates', ref.id)
    const answer =
      gate?.answer === null || gate === undefined ? 'Open question' : `Answered by ${gate.answered_by ?? 'a person'}`
    return gate ? { title: inertLine(gate.question, 200), note: `${inertLine(answer, 80)}, ${when(gate, now)}` } : null
  }
  const row = store.get('lanes', ref.id)
  return row ? { title: inertLine(row.label, 60), note: inertLine(row.model ?? '', 60) } : null
}
