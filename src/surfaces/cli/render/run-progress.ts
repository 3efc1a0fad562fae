import type { Event, EventData } from '../../../index.ts'
import { errorSummary } from '../../../views/content-text.ts'
import { formatCount, formatDuration } from '../../../views/format-amount.ts'
import { sessionLabel } from '../../../views/pattern-views.ts'
import type { RunView, SessionNode } from '../../../views/run-view.ts'
import { activeSessions, findEnclosing, isPatternEvent } from '../../../views/run-view.ts'
import { formatSteerAction } from '../../../views/steer-text.ts'
import { padToWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { toolTarget } from '../../../views/tool-input.ts'
import type { WaitingRequest } from '../../../views/waiting.ts'
import { failureReason, retryText, waitingText } from '../../../views/waiting.ts'
import type { ProgressLine } from './pattern-lines.ts'
import { patternProgress, sessionUsage } from './pattern-lines.ts'
import { isReplyGate } from './result-lines.ts'
import { formatAnswer } from './run-tree.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine, renderPatternLine } from './styled-line.ts'

const TIME_WIDTH = 6

/** The progress of an event, one line or more, if it has some; the view must already include the event. */
export function formatProgressLine(event: Event, view: RunView, style: TerminalStyle): string | undefined {
  const lines = progressFor(event, view).map((line) => progressLine(line, event.at - view.run.started_at, style))
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** The request that an agent waits for, as a line of progress. */
export function formatWaitingLine(
  request: WaitingRequest,
  view: RunView,
  { now, style }: { now: number; style: TerminalStyle },
): string {
  const speaker = view.sessions.get(request.session_id)
  const line: ProgressLine = { speaker, spans: [waitingText(request, now)], wrapped: 'yellow' }
  return progressLine(line, now - view.run.started_at, style)
}

function progressLine({ speaker, spans, wrapped }: ProgressLine, elapsed: number, style: TerminalStyle): string {
  const indent = '  '.repeat(Math.min(speaker?.depth ?? 0, 4))
  const name: TextSpan[] = speaker?.agent ? [['bold', toTerminalLine(speaker.agent)], '  '] : []
  const time = padToWidth(formatDuration(elapsed), TIME_WIDTH, 'right')
  const line: TextSpan[] = [['dim', time], '  ', indent, ...name, ...spans]
  if (!wrapped) return renderPatternLine(style, line)
  const text = [...name, ...spans].map((span) => (typeof span === 'string' ? span : span[1])).join('')
  const margin = TIME_WIDTH + 2 + indent.length
  return wrapText(text, Math.max(1, style.width - margin), 0)
    .map((each, index) => {
      const head: TextSpan = index === 0 ? ['dim', time] : ' '.repeat(TIME_WIDTH)
      return renderPatternLine(style, [head, '  ', indent, wrapped === true ? each : [wrapped, each]])
    })
    .join('\n')
}

/** The line of a kernel's event, or those of a pattern's. */
function progressFor(event: Event, view: RunView): ProgressLine[] {
  if (isPatternEvent(event)) return patternProgress(view, event)
  const line = kernelProgress(event, view)
  return line ? [line] : []
}

function kernelProgress(event: Event, view: RunView): ProgressLine | undefined {
  switch (event.type) {
    case 'run:start':
      return { spans: ['run ', ['bold', event.run_id], ` started: ${event.data.pattern}`] }
    case 'run:attempt':
      return event.data.epoch > 1 ? { spans: ['resumed'] } : undefined
    case 'run:reopen':
      return { spans: ['reopened'] }
    case 'run:interrupt':
      return { spans: [['yellow', 'interrupted']] }
    case 'run:cancel':
      return {
        spans: [['yellow', event.data.reason ? `cancelled: ${toTerminalLine(event.data.reason)}` : 'cancelled']],
      }
    case 'run:steer':
      return {
        spans: [
          ['dim', `${toTerminalLine(event.data.by)} requests: ${toTerminalLine(formatSteerAction(event.data.action))}`],
        ],
      }
    case 'step:drift':
      return { spans: [['yellow', `input changed since the last attempt: ${event.data.key}`]] }
    default:
      return sessionProgress(event, view)
  }
}

function sessionProgress(event: Event, view: RunView): ProgressLine | undefined {
  const speaker =
    'key' in event.data && event.data.key !== null ? findEnclosing(view, event.data.key, 'session') : undefined
  const label = speaker && sessionLabel(view, speaker)
  switch (event.type) {
    case 'session:input':
      if (event.data.key !== `${speaker?.key}/input`)
        return { speaker, spans: [['yellow', 'is asked for its final result']] }
      if (label?.marked === 'start' || label?.marked === 'both') return undefined
      return {
        speaker,
        spans: [
          (speaker?.segment ?? 1) > 1 ? 'continues  ' : 'starts  ',
          ['dim', toTerminalLine(label?.purpose ?? speaker?.instruction ?? '')],
        ],
      }
    case 'session:end':
      if (label?.replaced) return { speaker, spans: [['dim', toTerminalLine(label.result ?? 'another takes over')]] }
      if (speaker?.status === 'completed' && (label?.marked === 'end' || label?.marked === 'both')) return undefined
      return speaker ? { speaker, spans: sessionEndSpans(speaker) } : undefined
    case 'model:error':
      return { speaker, ...modelErrorLine(event.data, speaker) }
    case 'model:lost':
      return { speaker, spans: [['yellow', `lost a model request (${event.data.reason})`]] }
    case 'tool:pre':
      return event.data.kind === 'pattern'
        ? undefined
        : { speaker, spans: [`${toTerminalLine(event.data.tool)}  `, ['dim', toTerminalLine(toolTarget(event.data))]] }
    case 'tool:progress':
      return { speaker, spans: [['dim', `${toTerminalLine(event.data.tool)}  ${formatProgress(event.data)}`]] }
    case 'tool:error':
      return {
        speaker,
        spans: [['red', `${toTerminalLine(event.data.tool)} failed  `], toTerminalLine(event.data.error)],
      }
    case 'model:begin':
      // Once for each model of the run.
      if (view.costs.unpriced.get(event.data.model) !== event.seq) return undefined
      return {
        spans: [['yellow', `the price of ${toTerminalLine(event.data.model)} is unknown: limit usd does not count it`]],
      }
    case 'limit:hit':
      return { speaker, spans: [['yellow', toTerminalLine(event.data.error.message)]] }
    case 'gate:open':
      if (isReplyGate(event.data)) return { spans: [['yellow', 'waits for your reply']] }
      return { speaker, spans: [['yellow', 'asks  '], toTerminalLine(event.data.question)] }
    case 'gate:answer':
      return { speaker, spans: ['answer  ', formatAnswer(event.data.answer)] }
    default:
      return undefined
  }
}

/** The error of a request; one that is sent again is told in a line of its own. */
function modelErrorLine(
  { error, retry, refused, response }: EventData['model:error'],
  speaker: SessionNode | undefined,
): Omit<ProgressLine, 'speaker'> {
  if (!retry) return { spans: [['red', errorSummary(error)]] }
  if (refused) return { spans: [`${errorSummary(error)}; sent again without it`], wrapped: 'yellow' }
  const reason = failureReason(error, response?.status)
  const model = retry.model === speaker?.turn?.row.model ? undefined : retry.model
  return { spans: [retryText({ ...retry, reason, model })], wrapped: 'yellow' }
}

/** `3 of 5: downloading` */
function formatProgress({
  progress,
  total,
  message,
}: {
  progress?: number | undefined
  total?: number | undefined
  message?: string | undefined
}): string {
  const amount = progress === undefined ? '' : total === undefined ? `${progress}` : `${progress} of ${total}`
  return [amount, toTerminalLine(message ?? '')].filter((part) => part !== '').join(': ') || 'is at work'
}

function sessionEndSpans(session: SessionNode): TextSpan[] {
  const [textStyle, glyph] = STATUS_GLYPHS[session.status] ?? (['dim', ''] as const)
  const errorText = session.error ? `  ${errorSummary(session.error)}` : ''
  const outcome =
    session.stop_reason === 'completed'
      ? 'done'
      : session.stop_reason === session.status
        ? session.status
        : `${session.status} (${session.stop_reason})`
  return [[textStyle, `${glyph} ${outcome}`], errorText, ['dim', `  ${sessionUsage(session)}`]]
}

interface LiveOptions {
  now: number
  style: TerminalStyle
  limit?: number
  /** The requests that the sessions wait for. */
  waiting?: readonly WaitingRequest[]
}

/** A request whose response arrives is no wait. */
const QUIET_MS = 10_000

/** One line per active session, more if it waits: elapsed time, activity and the end of its streamed text; at most `limit` lines. */
export function liveLines(
  view: RunView,
  streamedText: ReadonlyMap<string, string>,
  { now, style, limit = 8, waiting = [] }: LiveOptions,
): string[] {
  const active = activeSessions(view).filter((session) => !session.children.some(hasRunningSession))
  const shown = active.slice(0, limit)
  const widest = Math.min(20, Math.max(0, ...shown.map((session) => session.agent.length)))
  const lines = shown.flatMap((session) => {
    const name = padToWidth(toTerminalLine(session.agent), widest)
    const request = waiting.find(({ session_id }) => session_id === session.session_id)
    if (request && now - (request.last_received_at ?? 0) >= QUIET_MS) {
      const [first = '', ...rest] = wrapText(waitingText(request, now), Math.max(1, style.width - widest - 4))
      const margin = ' '.repeat(widest + 4)
      return [[['cyan', '● '], ['bold', name], `  ${first}`] as const, ...rest.map((each) => [margin, each])].map(
        (spans) => renderLine(style, spans),
      )
    }
    const elapsed = formatDuration(now - session.started_at)
    const state = session.model_call_since === null ? toolActivity(session) : 'thinking'
    const tail = toTerminalLine((streamedText.get(session.session_id) ?? '').slice(-200))
    const facts = `  ${padToWidth(elapsed, TIME_WIDTH, 'right')}  ${formatCount(session.tokens)} tokens  ${state}`
    return renderLine(style, [['cyan', '● '], ['bold', name], facts, ['dim', tail ? `  …${tail}` : '']])
  })
  if (active.length > shown.length)
    lines.push(renderLine(style, [['dim', `  and ${active.length - shown.length} more running`]]))
  return lines
}

/** A session that waits for its sub-agents is not shown; they are. */
function hasRunningSession(node: SessionNode['children'][number]): boolean {
  if (node.kind === 'session' && node.status === 'running') return true
  return node.children.some(hasRunningSession)
}

function toolActivity(session: SessionNode): string {
  const running = session.children.filter((child) => child.kind === 'call' && child.status === 'running')
  const [first] = running
  if (first?.kind !== 'call') return 'working'
  return running.length === 1 ? `runs ${toTerminalLine(first.tool)}` : `runs ${running.length} tools`
}
