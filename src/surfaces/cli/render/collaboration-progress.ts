import type { Event } from '../../../index.ts'
import type { CollaborateEvent, CollaborateEventOf } from '../../../patterns/collaborate/events.ts'
import {
  collaborationSessionPurpose,
  enclosingCollaboration,
  formatRecommendation,
  parentStepKey,
  uncalledAgents,
} from '../../../views/collaboration-view.ts'
import { findEnclosing } from '../../../views/run-reducer.ts'
import type { RunView } from '../../../views/run-view.ts'
import { errorSummary } from './error-lines.ts'
import { formatCount, formatDuration, pluralize } from './format-amount.ts'
import type { ProgressLine } from './progress-line.ts'
import { STATUS_GLYPHS } from './run-tree.ts'
import type { TextSpan } from './styled-line.ts'
import { toTerminalLine } from './text-width.ts'

/** The progress line of a collaboration event, indented below the calling session. */
export function collaborationProgress(event: Event | CollaborateEvent, view: RunView): ProgressLine | undefined {
  switch (event.type) {
    case 'tool:collaborative:start':
      return unattributedLine(view, event.data.key, [`${event.data.mode}  `, ['dim', formatNames(event.data.agents)]])
    case 'tool:collaborative:agent:start':
    case 'tool:collaborative:agent:complete':
    case 'tool:collaborative:agent:error':
      return specialistProgress(event, view)
    case 'tool:collaborative:synthesis:start':
      return synthesisProgress(event, view)
    case 'tool:collaborative:complete': {
      const { key, agreement_score, agents_count, status } = event.data
      // The result of the run shows it.
      if (parentStepKey(key) === '' || agreement_score === null) return undefined
      const facts = `${pluralize(agents_count, 'agent')}, agreement ${Math.round(agreement_score * 100)} %`
      return unattributedLine(view, key, [status === 'completed' ? '' : `${status}  `, ['dim', facts]])
    }
    default:
      return undefined
  }
}

/** Whether the collaboration's own events report this, so that it is not printed twice. */
export function isReportedByCollaboration(event: Event | CollaborateEvent, view: RunView): boolean {
  const { collaborations } = view
  if (event.type === 'session:input') {
    const key = parentStepKey(event.data.key)
    return collaborations.specialists.has(key) || collaborationSessionPurpose(collaborations, key) !== undefined
  }
  if (event.type !== 'session:end' || !collaborations.specialists.has(event.data.key)) return false
  return event.data.status !== 'cancelled'
}

type SpecialistEvent =
  | CollaborateEventOf<'tool:collaborative:agent:start'>
  | CollaborateEventOf<'tool:collaborative:agent:complete'>
  | CollaborateEventOf<'tool:collaborative:agent:error'>

function specialistProgress(event: SpecialistEvent, view: RunView): ProgressLine {
  const { key, agent } = event.data
  const sessionKey = parentStepKey(key)
  const speaker = { agent, depth: depthFor(view, sessionKey) }
  if (event.type === 'tool:collaborative:agent:start') {
    const purpose = collaborationSessionPurpose(view.collaborations, sessionKey) ?? event.data.role
    return { speaker, spans: ['starts  ', ['dim', toTerminalLine(purpose)]] }
  }
  if (event.type === 'tool:collaborative:agent:error') {
    return { speaker, spans: [['red', `${STATUS_GLYPHS.failed?.[1]} failed  `], errorSummary(event.data.error)] }
  }
  const { recommendation = null, confidence = null } = event.data
  const text = toTerminalLine(formatRecommendation({ recommendation, confidence })) || 'done'
  return {
    speaker,
    spans: [['green', `${STATUS_GLYPHS.completed?.[1]} `], text, ['dim', `  ${sessionUsage(view, sessionKey)}`]],
  }
}

function sessionUsage(view: RunView, key: string): string {
  const session = view.byKey.get(key)
  if (session?.kind !== 'session') return 'cached from an earlier run'
  const duration = formatDuration((session.ended_at ?? session.started_at) - session.started_at)
  return `${pluralize(session.calls, 'call')} · ${formatCount(session.tokens)} tokens · ${duration}`
}

const STRATEGIES: Record<string, string> = {
  coordinator: 'the coordinator writes the answer',
  vote: 'counts the votes',
  merge: 'merges the answers',
  best_of: 'the evaluator scores the answers',
  solo: 'one answer is enough',
}

function synthesisProgress(
  event: CollaborateEventOf<'tool:collaborative:synthesis:start'>,
  view: RunView,
): ProgressLine {
  const { key, strategy } = event.data
  const collaboration = enclosingCollaboration(view.collaborations, key)
  const uncalled = collaboration ? uncalledAgents(collaboration) : []
  const saved = uncalled.length === 0 ? '' : `  not called: ${formatNames(uncalled)}`
  return unattributedLine(view, parentStepKey(key), [STRATEGIES[strategy] ?? strategy, ['dim', saved]])
}

function formatNames(agents: readonly string[]): string {
  return agents.map(toTerminalLine).join(', ')
}

/** A line without a speaker, at the depth of the specialists. */
function unattributedLine(view: RunView, key: string, spans: readonly TextSpan[]): ProgressLine {
  return { speaker: { agent: '', depth: depthFor(view, key) }, spans }
}

function depthFor(view: RunView, key: string): number {
  const session = view.byKey.get(key)
  if (session?.kind === 'session') return session.depth
  const caller = findEnclosing(view, parentStepKey(key), 'session')
  return caller ? caller.depth + 1 : 0
}
