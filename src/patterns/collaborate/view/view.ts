import { parentStepKey } from '../../../run-model/step-tree.ts'
import { errorSummary } from '../../../views/error-summary.ts'
import { formatCount, formatDuration, pluralize } from '../../../views/format-amount.ts'
import type { ProgressLine, SessionFacts, SessionLabel, SessionLookup, TextLine } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import { STATUS_GLYPHS } from '../../../views/status-glyphs.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { CollaborateEvent, CollaborateEventOf } from '../events.ts'
import { agreementLines } from './agreement-lines.ts'
import { agreementPanels } from './agreement-panel.ts'
import { agreementViewFrom } from './agreement-view.ts'
import { collaborationMarks } from './collaboration-marks.ts'
import type { CollaborationViews } from './collaboration-view.ts'
import {
  collaborationSessionPurpose,
  enclosingCollaboration,
  formatRecommendation,
  reduceCollaboration,
  uncalledAgents,
} from './collaboration-view.ts'

/** The view of a collaboration: its specialists while they work, and their agreement at the end. */
export const collaborateView = definePatternView<CollaborationViews, CollaborateEvent>({
  initial: () => ({ byKey: new Map(), specialists: new Map() }),
  reduce(views, event) {
    reduceCollaboration(views, event)
    return views
  },
  progress: (views, event, sessions) => collaborationProgress(event, { views, sessions }),
  session: (views, session) => collaborationSession(views, session),
  timeline: collaborationMarks,
  panels: agreementPanels,
  lines: (_views, page) => agreementLines(page.output, page),
  outputText(output) {
    const agreement = agreementViewFrom(output)
    return agreement ? (agreement.result ?? '') : undefined
  },
  sessionFile: {
    collaboration({ byKey }, input) {
      const { mode, agents = [] } = byKey.get('') ?? { mode: (input as { mode?: string }).mode }
      const [first] = agents
      const coordinator =
        mode === 'hierarchical' && first !== undefined ? { agent_id: first, agent_type: first } : undefined
      return {
        pattern: mode === 'sequential' ? 'pipeline' : 'master_worker',
        ...(coordinator ? { orchestrator: coordinator } : undefined),
      }
    },
    prompt: (input) => (input as { task: string }).task,
  },
})

interface ProgressContext {
  views: CollaborationViews
  sessions: SessionLookup
}

/** The progress line of a collaboration event, indented below the calling session. */
function collaborationProgress(event: CollaborateEvent, context: ProgressContext): ProgressLine | undefined {
  switch (event.type) {
    case 'tool:collaborative:start':
      return unattributedLine(context, event.data.key, [
        `${event.data.mode}  `,
        ['dim', formatNames(event.data.agents)],
      ])
    case 'tool:collaborative:agent:start':
    case 'tool:collaborative:agent:complete':
    case 'tool:collaborative:agent:error':
      return specialistProgress(event, context)
    case 'tool:collaborative:synthesis:start':
      return synthesisProgress(event, context)
    case 'tool:collaborative:complete': {
      const { key, agreement_score, agents_count, status } = event.data
      // The result of the run shows it.
      if (parentStepKey(key) === '' || agreement_score === null) return undefined
      const facts = `${pluralize(agents_count, 'agent')}, agreement ${Math.round(agreement_score * 100)} %`
      return unattributedLine(context, key, [status === 'completed' ? '' : `${status}  `, ['dim', facts]])
    }
    default:
      return undefined
  }
}

/** The collaboration's own events report its specialists, so that nothing is printed twice. */
function collaborationSession(views: CollaborationViews, { key, status }: SessionFacts): SessionLabel | undefined {
  const purpose = collaborationSessionPurpose(views, key)
  const specialist = views.specialists.get(key)
  if (purpose === undefined) return undefined
  const result = specialist ? formatRecommendation(specialist) : ''
  return {
    purpose,
    start: 'hidden',
    ...(specialist && status !== 'cancelled' ? { end: 'hidden' as const } : undefined),
    ...(result === '' ? undefined : { result }),
  }
}

type SpecialistEvent =
  | CollaborateEventOf<'tool:collaborative:agent:start'>
  | CollaborateEventOf<'tool:collaborative:agent:complete'>
  | CollaborateEventOf<'tool:collaborative:agent:error'>

function specialistProgress(event: SpecialistEvent, context: ProgressContext): ProgressLine {
  const { key, agent } = event.data
  const sessionKey = parentStepKey(key)
  const speaker = { agent, depth: context.sessions.depth(sessionKey) }
  if (event.type === 'tool:collaborative:agent:start') {
    const purpose = collaborationSessionPurpose(context.views, sessionKey) ?? event.data.role
    return { speaker, spans: ['starts  ', ['dim', toTerminalLine(purpose)]] }
  }
  if (event.type === 'tool:collaborative:agent:error') {
    return { speaker, spans: [['red', `${STATUS_GLYPHS.failed?.[1]} failed  `], errorSummary(event.data.error)] }
  }
  const { recommendation = null, confidence = null } = event.data
  const text = toTerminalLine(formatRecommendation({ recommendation, confidence })) || 'done'
  return {
    speaker,
    spans: [['green', `${STATUS_GLYPHS.completed?.[1]} `], text, ['dim', `  ${sessionUsage(context, sessionKey)}`]],
  }
}

function sessionUsage({ sessions }: ProgressContext, key: string): string {
  const session = sessions.session(key)
  if (!session) return 'cached from an earlier run'
  const duration = formatDuration((session.ended_at ?? session.started_at) - session.started_at)
  return `${pluralize(session.calls, 'call')} · ${formatCount(session.tokens)} tokens · ${duration}`
}

const STRATEGIES: Record<string, string> = {
  coordinator: 'the coordinator writes the answer',
  vote: 'counts the votes',
  merge: 'merges the answers',
  best_of: 'the evaluator scores the answers',
}

function synthesisProgress(
  event: CollaborateEventOf<'tool:collaborative:synthesis:start'>,
  context: ProgressContext,
): ProgressLine {
  const { key, strategy } = event.data
  const collaboration = enclosingCollaboration(context.views, key)
  const uncalled = collaboration ? uncalledAgents(collaboration) : []
  const saved = uncalled.length === 0 ? '' : `  not called: ${formatNames(uncalled)}`
  return unattributedLine(context, parentStepKey(key), [STRATEGIES[strategy] ?? strategy, ['dim', saved]])
}

function formatNames(agents: readonly string[]): string {
  return agents.map(toTerminalLine).join(', ')
}

/** A line without a speaker, at the depth of the specialists. */
function unattributedLine({ sessions }: ProgressContext, key: string, spans: TextLine): ProgressLine {
  return { speaker: { agent: '', depth: sessions.depth(key) }, spans }
}
