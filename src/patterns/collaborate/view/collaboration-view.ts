import { parentStepKey } from '../../../run-model/step-tree.ts'
import type { CollaborateEvent } from '../events.ts'

/*
 * Reduces the events of collaborations: the specialists, their roles and their recommendations. All specialists get the
 * same task, so progress lines show the role or subtask instead.
 */

export interface CollaborationView {
  /** Key of the collaboration step; empty when the run itself is the collaboration. */
  key: string
  agents: string[]
  mode: string
  synthesis: string
  called: Set<string>
  /** Set at its end. */
  agreement_score: number | null
}

export interface SpecialistView {
  agent: string
  role: string
  subtask: string | null
  recommendation: string | null
  confidence: number | null
  status: 'running' | 'completed' | 'failed'
  error: string | null
}

export interface CollaborationViews {
  byKey: Map<string, CollaborationView>
  /** By session key. */
  specialists: Map<string, SpecialistView>
}

export function reduceCollaboration({ byKey, specialists }: CollaborationViews, event: CollaborateEvent): void {
  switch (event.type) {
    case 'tool:collaborative:start': {
      const { key, agents, mode, synthesis } = event.data
      const own = { key: parentStepKey(key), agents, mode, synthesis }
      byKey.set(parentStepKey(key), { ...own, called: new Set(), agreement_score: null })
      return
    }
    case 'tool:collaborative:agent:start': {
      const { key, agent, role, subtask = null } = event.data
      const open = { recommendation: null, confidence: null, status: 'running' as const, error: null }
      specialists.set(parentStepKey(key), { agent, role, subtask, ...open })
      enclosingCollaboration({ byKey, specialists }, key)?.called.add(agent)
      return
    }
    case 'tool:collaborative:agent:complete': {
      const { key, recommendation = null, confidence = null } = event.data
      const specialist = specialists.get(parentStepKey(key))
      if (specialist) Object.assign(specialist, { recommendation, confidence, status: 'completed' })
      return
    }
    case 'tool:collaborative:agent:error': {
      const specialist = specialists.get(parentStepKey(event.data.key))
      if (specialist) Object.assign(specialist, { status: 'failed', error: event.data.error.message })
      return
    }
    case 'tool:collaborative:complete': {
      const collaboration = byKey.get(parentStepKey(event.data.key))
      if (collaboration) collaboration.agreement_score = event.data.agreement_score
      return
    }
    default:
  }
}

/** The innermost collaboration that contains a key. */
export function enclosingCollaboration({ byKey }: CollaborationViews, key: string): CollaborationView | undefined {
  for (let path = parentStepKey(key); path !== ''; path = parentStepKey(path)) {
    const found = byKey.get(path)
    if (found) return found
  }
  return byKey.get('')
}

const SYSTEM_AGENT_PURPOSES: Record<string, string> = {
  'synthesis/coordinator': 'writes the answer',
  'synthesis/evaluator': 'scores the answers',
  judge: 'compares recommendations',
  extraction: 'reads recommendations in prose',
}

/** The purpose of a session in its collaboration; `undefined` for sessions outside one. */
export function collaborationSessionPurpose(views: CollaborationViews, key: string): string | undefined {
  const specialist = views.specialists.get(key)
  const collaboration = enclosingCollaboration(views, key)
  if (!collaboration) return undefined
  if (specialist && collaboration.mode === 'hierarchical' && specialist.role === 'coordinator')
    return 'divides the work'
  const path = collaboration.key === '' ? key : key.slice(collaboration.key.length + 1)
  if (specialist)
    return path.startsWith('mediation/') ? 'reads the other positions' : (specialist.subtask ?? specialist.role)
  return SYSTEM_AGENT_PURPOSES[path] ?? SYSTEM_AGENT_PURPOSES[path.slice(path.lastIndexOf('/') + 1)]
}

/** `95 % sure: request changes`; empty without a recommendation. */
export function formatRecommendation({
  recommendation,
  confidence,
}: Pick<SpecialistView, 'recommendation' | 'confidence'>): string {
  if (recommendation === null) return ''
  return confidence === null ? recommendation : `${Math.round(confidence * 100)} % sure: ${recommendation}`
}
