import { parentStepKey } from '../../../run-model/step-tree.ts'
import type { TimelineMark } from '../../../views/timeline/timeline-mark.ts'
import type { CollaborateEvent } from '../events.ts'
import type { CollaborationViews } from './collaboration-view.ts'
import { collaborationSessionPurpose, enclosingCollaboration, formatRecommendation } from './collaboration-view.ts'

/* What the events of a collaboration mean on a timeline: specialists side by side, their votes, and who won. */

export function collaborationMarks(views: CollaborationViews, event: CollaborateEvent): TimelineMark[] {
  const { key } = event.data
  switch (event.type) {
    case 'tool:collaborative:start':
      return [{ kind: 'phase', title: 'Specialists' }]
    case 'tool:collaborative:agent:start': {
      const session = parentStepKey(key)
      const collaboration = enclosingCollaboration(views, key)
      const title = collaborationSessionPurpose(views, session) ?? event.data.role
      const isParallel = collaboration !== undefined && collaboration.mode !== 'sequential'
      const group = isParallel ? { group: `collaboration ${collaboration.key}` } : undefined
      return [{ kind: 'session', session, title, ...group }]
    }
    case 'tool:collaborative:agent:complete': {
      const { recommendation, confidence = null } = event.data
      const session = parentStepKey(key)
      if (recommendation === undefined) return progressMarks(views, key)
      const result = formatRecommendation({ recommendation, confidence })
      return [
        { kind: 'session', session, result },
        { kind: 'vote', session, text: result, won: null },
        ...progressMarks(views, key),
      ]
    }
    case 'tool:collaborative:agent:error':
      return progressMarks(views, key)
    case 'tool:collaborative:synthesis:start':
      return [{ kind: 'phase', title: 'Result' }]
    case 'tool:collaborative:complete':
      return decidedVotes(views, event.data)
    default:
      return []
  }
}

/** `2 of 3 specialists`. */
function progressMarks(views: CollaborationViews, key: string): TimelineMark[] {
  const collaboration = enclosingCollaboration(views, key)
  if (!collaboration) return []
  const total = collaboration.agents.length
  const ended = new Set(
    specialistsOf(views, collaboration.key).flatMap(([, { agent, status }]) => (status === 'running' ? [] : [agent])),
  ).size
  return [
    {
      kind: 'progress',
      text: `${ended} of ${total} specialists`,
      share: total === 0 ? null : Math.min(1, ended / total),
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
