import { parentStepKey } from '../../../run-model/step-tree.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { TimelineMark } from '../../../views/timeline/timeline-mark.ts'
import type { CollaborateEvent, CollaborateEventOf } from '../events.ts'
import type { CollaborationViews } from './collaboration-view.ts'
import { collaborationSessionPurpose, enclosingCollaboration, formatRecommendation } from './collaboration-view.ts'

/* What the events of a collaboration mean on a timeline: specialists side by side, their votes, and who won. */

export function collaborationMarks(views: CollaborationViews, event: CollaborateEvent): TimelineMark[] {
  const { key } = event.data
  switch (event.type) {
    case 'tool:collaborative:start':
      return [{ kind: 'phase', title: 'Specialists', text: `${event.data.mode}: ${event.data.agents.join(', ')}` }]
    case 'tool:collaborative:agent:start': {
      const session = parentStepKey(key)
      const collaboration = enclosingCollaboration(views, key)
      const title = collaborationSessionPurpose(views, session) ?? event.data.role
      const isParallel = collaboration !== undefined && collaboration.mode !== 'sequential'
      const group = isParallel ? { group: `collaboration ${collaboration.key}` } : undefined
      return [{ kind: 'session', session, title, ...group }]
    }
    case 'tool:collaborative:agent:complete': {
      const { agent, recommendation = null, confidence = null } = event.data
      const session = parentStepKey(key)
      const result = formatRecommendation({ recommendation, confidence })
      return [
        { kind: 'session', session, agent, result },
        ...(recommendation === null ? [] : [{ kind: 'vote' as const, session, text: result, won: null }]),
        ...progressMarks(views, key),
      ]
    }
    case 'tool:collaborative:agent:error':
      return progressMarks(views, key)
    case 'tool:collaborative:synthesis:start':
      return [{ kind: 'phase', title: 'Result', text: synthesisText(views, event.data) }]
    case 'tool:collaborative:complete':
      return [...decidedVotes(views, event.data), ...nestedEnd(event.data)]
    default:
      return []
  }
}

const STRATEGIES: Readonly<Record<string, string>> = {
  coordinator: 'the coordinator writes the answer',
  vote: 'counts the votes',
  merge: 'merges the answers',
  best_of: 'the evaluator scores the answers',
}

/** How the result is made, and who was never called, for example after an early stop. */
function synthesisText(views: CollaborationViews, { key, strategy }: { key: string; strategy: string }): string {
  const { agents = [], called = new Set() } = enclosingCollaboration(views, key) ?? {}
  const uncalled = agents.filter((agent) => !called.has(agent))
  return [
    STRATEGIES[strategy] ?? strategy,
    ...(uncalled.length === 0 ? [] : [`not called: ${uncalled.join(', ')}`]),
  ].join('; ')
}

/** How a collaboration that an agent called ended; that of the run has its panel. */
function nestedEnd({ key, agreement_score, agents_count, status }: CompleteData): TimelineMark[] {
  if (parentStepKey(key) === '' || agreement_score === null) return []
  const facts = `${pluralize(agents_count, 'agent')}, agreement ${Math.round(agreement_score * 100)} %`
  return [{ kind: 'progress', text: status === 'completed' ? facts : `${status}: ${facts}`, share: null }]
}

type CompleteData = CollaborateEventOf<'tool:collaborative:complete'>['data']

/** `2 of 3 answered`. */
function progressMarks(views: CollaborationViews, key: string): TimelineMark[] {
  const collaboration = enclosingCollaboration(views, key)
  if (!collaboration) return []
  const total = collaboration.agents.length
  const answered = new Set(
    specialistsOf(views, collaboration.key).flatMap(([, { agent, status }]) => (status === 'completed' ? [agent] : [])),
  ).size
  return [
    {
      kind: 'progress',
      text: `${answered} of ${total} answered`,
      share: total === 0 ? null : Math.min(1, answered / total),
    },
  ]
}

function specialistsOf(views: CollaborationViews, key: string) {
  return [...views.specialists].filter(([session]) => enclosingCollaboration(views, `${session}/start`)?.key === key)
}

/** Whether each vote was for the position that won; unknown if none did. */
function decidedVotes(
  views: CollaborationViews,
  { key, winning }: { key: string; winning?: string[] | undefined },
): TimelineMark[] {
  return specialistsOf(views, parentStepKey(key)).flatMap(([session, specialist]): TimelineMark[] => {
    const text = formatRecommendation(specialist)
    if (text === '' || !winning) return []
    return [{ kind: 'vote', session, text, won: winning.includes(specialist.agent) }]
  })
}
