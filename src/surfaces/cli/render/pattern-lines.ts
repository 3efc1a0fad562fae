import type { TimelineMark } from '../../../entries/patterns.ts'
import { formatCount, formatDuration, pluralize } from '../../../views/format-amount.ts'
import { depthAt, eventFields, eventMarks } from '../../../views/pattern-views.ts'
import type { RunView, SessionNode } from '../../../views/run-view.ts'
import { findEnclosing } from '../../../views/run-view.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle, TextLine, TextSpan, TextStyle } from './styled-line.ts'
import { renderPatternLine } from './styled-line.ts'

/* Draws the events of patterns: what they mean, as their marks tell, or else their fields. */

type PatternEvent = RunView['otherEvents'][number]

/** One line of progress, with the agent it is about and the depth of its indentation. */
export interface ProgressLine {
  speaker?: { agent: string; depth: number } | undefined
  spans: TextLine
  /** The line is wrapped, not cut off, and may have a style. */
  wrapped?: true | TextStyle
}

/** The lines of a pattern's event. */
export function patternProgress(view: RunView, event: PatternEvent): ProgressLine[] {
  const marks = eventMarks(view, event)
  const fields = { speaker: findEnclosing(view, event.data.key, 'session'), spans: fieldSpans(event) }
  try {
    return marks?.flatMap((mark) => markLine(mark, { view, event, marks }) ?? []) ?? [fields]
  } catch {
    // The view of another program gave a mark that cannot be drawn: the run goes on, and its event is shown.
    return [fields]
  }
}

interface MarkContext {
  view: RunView
  event: PatternEvent
  marks: readonly TimelineMark[]
}

function markLine(mark: TimelineMark, { view, event, marks }: MarkContext): ProgressLine | undefined {
  const depth = depthAt(view, event.data.key)
  const line = (...spans: TextLine): ProgressLine => ({ speaker: { agent: '', depth }, spans })
  switch (mark.kind) {
    case 'handoff':
    case 'consultation':
      return line(...linkSpans(mark, depth), ['dim', `  ${toTerminalLine(mark.label ?? '')}`])
    case 'message':
      // The link says it already.
      if (marks.some(({ kind }) => kind === 'handoff' || kind === 'consultation')) return undefined
      return {
        ...line(...linkSpans(mark, depth), `  ${mark.type.replaceAll('_', ' ')}  `, ['dim', toTerminalLine(mark.text)]),
        ...(mark.type === 'status_update' && { wrapped: true as const }),
      }
    case 'phase':
      if (mark.title === null) return undefined
      if (mark.text === undefined) return line(['bold', toTerminalLine(mark.title)])
      return { ...line(['bold', toTerminalLine(mark.title)], `  ${toTerminalLine(mark.text)}`), wrapped: true }
    case 'progress': {
      // What came of a session says more; else the first of them says what happened.
      const told = marks.find(({ kind, ...each }) => kind === 'progress' || (kind === 'session' && 'result' in each))
      return told === mark
        ? { ...line(toTerminalLine(mark.text)), speaker: { agent: mark.agent ?? '', depth } }
        : undefined
    }
    case 'notice':
      return { ...line(['yellow', toTerminalLine(mark.text)]), wrapped: 'yellow' }
    case 'session':
      return mark.result === undefined ? undefined : sessionResult(mark, view)
    default:
      return undefined
  }
}

/** `writer → reviewer`; the person is the reader, and a nested pattern returns to the one that called it. */
function linkSpans({ from, to }: { from: string | null; to: string | null }, depth: number): TextSpan[] {
  return [['bold', toTerminalLine(from ?? 'you')], ' → ', ['bold', toTerminalLine(to ?? (depth > 0 ? 'back' : 'you'))]]
}

/** What came of a session, with its usage; a session that never opened had its result from an earlier run. */
function sessionResult(
  { session: key, agent, result = '' }: Extract<TimelineMark, { kind: 'session' }>,
  view: RunView,
): ProgressLine | undefined {
  const session = view.byKey.get(key)
  const known = session?.kind === 'session' ? session : undefined
  if (!known && agent === undefined) return undefined
  const usage = known ? sessionUsage(known) : 'from an earlier run'
  const speaker = known ?? { agent: agent ?? '', depth: depthAt(view, key) }
  const glyph = STATUS_GLYPHS[known && known.status !== 'running' ? known.status : 'completed'] ?? ''
  return { speaker, spans: [glyph, ` ${toTerminalLine(result) || 'done'}`, ['dim', `  ${usage}`]] }
}

export function sessionUsage({ calls, tokens, started_at, ended_at }: SessionNode): string {
  return `${pluralize(calls, 'call')} · ${formatCount(tokens)} tokens · ${formatDuration((ended_at ?? started_at) - started_at)}`
}

function fieldSpans(event: PatternEvent): TextSpan[] {
  return [`${event.type}  `, ['dim', eventFields(event)]]
}

const EVENTS_SHOWN = 20

/** The latest events of patterns that have no view here, such as those of another program. */
export function otherEventLines({ otherEvents }: RunView, style: TerminalStyle): string[] {
  if (otherEvents.length === 0) return []
  const title = otherEvents.length > EVENTS_SHOWN ? `the last ${EVENTS_SHOWN} events (all with --events)` : 'events'
  return [
    renderPatternLine(style, [['bold', title]]),
    ...otherEvents.slice(-EVENTS_SHOWN).map((event) => renderPatternLine(style, ['  ', ...fieldSpans(event)])),
  ]
}
