import type { Event } from '../../../kernel/event.ts'
import { activeSessions, findEnclosing } from '../../../views/run-reducer.ts'
import type { RunView, SessionNode } from '../../../views/run-view.ts'
import { isModelFallback } from '../../../views/team-view.ts'
import { collaborationProgress, isReportedByCollaboration } from './collaboration-progress.ts'
import { errorSummary } from './error-lines.ts'
import { formatCount, formatDuration, pluralize } from './format-amount.ts'
import type { ProgressLine } from './progress-line.ts'
import { isReplyGate } from './result-lines.ts'
import { formatAnswer, formatToolInput, STATUS_GLYPHS } from './run-tree.ts'
import type { TerminalStyle, TextSpan, TextStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { teamProgress, teamSessionStartSpans } from './team-progress.ts'
import { padToWidth, toTerminalLine } from './text-width.ts'

const TIME_WIDTH = 6

/** One line for an event that a person wants to hear of; the story has heard it already. */
export function formatProgressLine(event: Event, view: RunView, style: TerminalStyle): string | undefined {
  const said = progressFor(event, view)
  if (!said) return undefined
  const { who, spans } = said
  const indent = '  '.repeat(Math.min(who?.depth ?? 0, 4))
  const name: TextSpan[] = who?.agent ? [['bold', toTerminalLine(who.agent)], '  '] : []
  const elapsed = padToWidth(formatDuration(event.at - view.started_at), TIME_WIDTH, 'right')
  return renderLine(style, [['dim', elapsed], '  ', indent, ...name, ...spans])
}

function progressFor(event: Event, view: RunView): ProgressLine | undefined {
  switch (event.type) {
    case 'run:start':
      return { spans: ['run ', ['bold', event.run_id], ` started: ${event.data.pattern}`] }
    case 'run:attempt':
      return event.data.epoch > 1 ? { spans: ['taken up again'] } : undefined
    case 'run:reopen':
      return { spans: ['reopened'] }
    case 'run:interrupt':
      return { spans: [['yellow', 'interrupted']] }
    case 'run:cancel':
      return {
        spans: [['yellow', event.data.reason ? `cancelled: ${toTerminalLine(event.data.reason)}` : 'cancelled']],
      }
    case 'step:drift':
      return { spans: [['yellow', `asks something else than before: ${event.data.key}`]] }
    default:
      return collaborationProgress(event, view) ?? teamProgress(event) ?? sessionProgress(event, view)
  }
}

function sessionProgress(event: Event, view: RunView): ProgressLine | undefined {
  const who =
    'key' in event.data && event.data.key !== null ? findEnclosing(view, event.data.key, 'session') : undefined
  switch (event.type) {
    case 'session:input':
      if (event.data.key !== `${who?.key}/input`) return { who, spans: [['yellow', 'is asked for its result']] }
      if (isReportedByCollaboration(event, view)) return undefined
      if (who && teamSessionStartSpans(view, who.key)) return { who, spans: teamSessionStartSpans(view, who.key) ?? [] }
      return {
        who,
        spans: [(who?.segment ?? 1) > 1 ? 'continues  ' : 'starts  ', ['dim', toTerminalLine(who?.instruction ?? '')]],
      }
    case 'session:end':
      if (who && isModelFallback(view.team, who)) return { who, spans: [['dim', 'has no model of its own']] }
      return who && !isReportedByCollaboration(event, view) ? { who, spans: sessionEndSpans(who) } : undefined
    case 'model:error':
      return { who, spans: [['red', errorSummary(event.data.error)]] }
    case 'model:lost':
      return { who, spans: [['yellow', `lost a model call (${event.data.reason})`]] }
    case 'tool:pre':
      return event.data.kind === 'pattern'
        ? undefined
        : { who, spans: [`${toTerminalLine(event.data.tool)}  `, ['dim', formatToolInput(event.data.input)]] }
    case 'tool:error':
      return { who, spans: [['red', `${toTerminalLine(event.data.tool)} failed  `], toTerminalLine(event.data.error)] }
    case 'limit:hit':
      return { who, spans: [['yellow', `limit ${event.data.limit} reached: ${event.data.used} of ${event.data.max}`]] }
    case 'gate:open':
      if (isReplyGate(event.data)) return { spans: [['yellow', 'waits for your answer']] }
      return { who, spans: [['yellow', 'asks  '], toTerminalLine(event.data.question)] }
    case 'gate:answer':
      return { who, spans: ['is answered  ', formatAnswer(event.data.answer)] }
    default:
      return undefined
  }
}

function sessionEndSpans(work: SessionNode): TextSpan[] {
  const [textStyle, glyph] = STATUS_GLYPHS[work.status] ?? (['dim', ''] as const)
  const took = formatDuration((work.ended_at ?? work.started_at) - work.started_at)
  const why = work.error ? `  ${errorSummary(work.error)}` : ''
  const words =
    work.stop_reason === 'completed'
      ? 'done'
      : work.stop_reason === work.status
        ? work.status
        : `${work.status} (${work.stop_reason})`
  const facts = `  ${pluralize(work.calls, 'call')} · ${formatCount(work.tokens)} tokens · ${took}`
  return [[textStyle satisfies TextStyle, `${glyph} ${words}`], ['dim', facts], why]
}

/** A line for each session at work: since when, what it does, its last words. Never more than `most` lines. */
export function liveLines(
  view: RunView,
  words: ReadonlyMap<string, string>,
  at: { now: number; style: TerminalStyle; most?: number },
): string[] {
  const { now, style, most = 8 } = at
  const active = activeSessions(view).filter((work) => !work.children.some(hasRunningSession))
  const shown = active.slice(0, most)
  const widest = Math.min(20, Math.max(0, ...shown.map((work) => work.agent.length)))
  const lines = shown.map((work) => {
    const since = formatDuration(now - work.started_at)
    const state = work.model_call_since === null ? toolActivity(work) : 'thinking'
    const tail = toTerminalLine((words.get(work.session_id) ?? '').slice(-200))
    const facts = `  ${padToWidth(since, TIME_WIDTH, 'right')}  ${formatCount(work.tokens)} tokens  ${state}`
    return renderLine(style, [
      ['cyan', '● '],
      ['bold', padToWidth(toTerminalLine(work.agent), widest)],
      facts,
      ['dim', tail ? `  …${tail}` : ''],
    ])
  })
  if (active.length > shown.length)
    lines.push(renderLine(style, [['dim', `  and ${active.length - shown.length} more at work`]]))
  return lines
}

/** A session whose sub-agents are at work waits for them: they are shown instead. */
function hasRunningSession(part: SessionNode['children'][number]): boolean {
  if (part.kind === 'session' && part.status === 'running') return true
  return part.children.some(hasRunningSession)
}

function toolActivity(work: SessionNode): string {
  const running = work.children.filter((part) => part.kind === 'call' && part.status === 'running')
  const [first] = running
  if (first?.kind !== 'call') return 'working'
  return running.length === 1 ? `runs ${toTerminalLine(first.tool)}` : `runs ${running.length} tools`
}
