import type { Event, EventOf } from '../../../kernel/event.ts'
import {
  collaborationSessionPurpose,
  enclosingCollaboration,
  formatRecommendation,
  parentStepKey,
  unaskedAgents,
} from '../../../views/collaboration-view.ts'
import { findEnclosing } from '../../../views/run-reducer.ts'
import type { RunView } from '../../../views/run-view.ts'
import { errorSummary } from './error-lines.ts'
import { formatCount, formatDuration, pluralize } from './format-amount.ts'
import type { ProgressLine } from './progress-line.ts'
import { STATUS_GLYPHS } from './run-tree.ts'
import type { TextSpan } from './styled-line.ts'
import { toTerminalLine } from './text-width.ts'

/** A line for what a collaboration tells of itself, below whoever asked for it. */
export function collaborationProgress(event: Event, view: RunView): ProgressLine | undefined {
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
      // The run's own end says it better.
      if (parentStepKey(key) === '' || agreement_score === null) return undefined
      const facts = `${pluralize(agents_count, 'agent')}, agreement ${Math.round(agreement_score * 100)} %`
      return unattributedLine(view, key, [status === 'completed' ? '' : `${status}  `, ['dim', facts]])
    }
    default:
      return undefined
  }
}

/** True for what is told by the collaboration itself: one line for one thing. */
export function isReportedByCollaboration(event: Event, view: RunView): boolean {
  const { collaborations } = view
  if (event.type === 'session:input') {
    const key = parentStepKey(event.data.key)
    return collaborations.specialists.has(key) || collaborationSessionPurpose(collaborations, key) !== undefined
  }
  if (event.type !== 'session:end' || !collaborations.specialists.has(event.data.key)) return false
  return event.data.status !== 'cancelled'
}

type SpecialistEvent =
  | EventOf<'tool:collaborative:agent:start'>
  | EventOf<'tool:collaborative:agent:complete'>
  | EventOf<'tool:collaborative:agent:error'>

function specialistProgress(event: SpecialistEvent, view: RunView): ProgressLine {
  const { key, agent } = event.data
  const context = parentStepKey(key)
  const who = { agent, depth: depthAt(view, context) }
  if (event.type === 'tool:collaborative:agent:start') {
    const part = collaborationSessionPurpose(view.collaborations, context) ?? event.data.role
    return { who, spans: ['starts  ', ['dim', toTerminalLine(part)]] }
  }
  if (event.type === 'tool:collaborative:agent:error') {
    return { who, spans: [['red', `${STATUS_GLYPHS.failed?.[1]} failed  `], errorSummary(event.data.error)] }
  }
  const { recommendation = null, confidence = null } = event.data
  const words = toTerminalLine(formatRecommendation({ recommendation, confidence })) || 'done'
  return {
    who,
    spans: [['green', `${STATUS_GLYPHS.completed?.[1]} `], words, ['dim', `  ${sessionUsage(view, context)}`]],
  }
}

function sessionUsage(view: RunView, key: string): string {
  const work = view.byKey.get(key)
  if (work?.kind !== 'session') return 'known from an earlier run'
  const took = formatDuration((work.ended_at ?? work.started_at) - work.started_at)
  return `${pluralize(work.calls, 'call')} · ${formatCount(work.tokens)} tokens · ${took}`
}

const STRATEGIES: Record<string, string> = {
  coordinator: 'the coordinator writes the answer',
  vote: 'the votes are counted',
  merge: 'the answers are put together',
  best_of: 'the evaluator scores the answers',
  solo: 'one voice is enough',
}

function synthesisProgress(event: EventOf<'tool:collaborative:synthesis:start'>, view: RunView): ProgressLine {
  const { key, strategy } = event.data
  const within = enclosingCollaboration(view.collaborations, key)
  const spared = within ? unaskedAgents(within) : []
  const saved = spared.length === 0 ? '' : `  not asked: ${formatNames(spared)}`
  return unattributedLine(view, parentStepKey(key), [STRATEGIES[strategy] ?? strategy, ['dim', saved]])
}

function formatNames(agents: readonly string[]): string {
  return agents.map(toTerminalLine).join(', ')
}

/** Nobody's line: it stands where the specialists stand. */
function unattributedLine(view: RunView, key: string, spans: readonly TextSpan[]): ProgressLine {
  return { who: { agent: '', depth: depthAt(view, key) }, spans }
}

function depthAt(view: RunView, key: string): number {
  const own = view.byKey.get(key)
  if (own?.kind === 'session') return own.depth
  const caller = findEnclosing(view, parentStepKey(key), 'session')
  return caller ? caller.depth + 1 : 0
}
