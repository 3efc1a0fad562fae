import { parentStepKey } from '../../../views/run-reducer.ts'
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
  called: Set<string>
}

export interface SpecialistView {
  agent: string
  role: string
  subtask: string | null
  recommendation: string | null
  confidence: number | null
}

export interface CollaborationViews {
  byKey: Map<string, CollaborationView>
  /** By session key. */
  specialists: Map<string, SpecialistView>
}

export function reduceCollaboration({ byKey, specialists }: CollaborationViews, event: CollaborateEvent): void {
  switch (event.type) {
    case 'tool:collaborative:start': {
      const { key, agents, mode } = event.data
      byKey.set(parentStepKey(key), { key: parentStepKey(key), agents, mode, called: new Set() })
      return
    }
    case 'tool:collaborative:agent:start': {
      const { key, agent, role, subtask = null } = event.data
      specialists.set(parentStepKey(key), { agent, role, subtask, recommendation: null, confidence: null })
      enclosingCollaboration({ byKey, specialists }, key)?.called.add(agent)
      return
    }
    case 'tool:collaborative:agent:complete': {
      const { key, recommendation = null, confidence = null } = event.data
      const specialist = specialists.get(parentStepKey(key))
      if (specialist) Object.assign(specialist, { recommendation, confidence })
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

/** Specialists that were never called, for example after an early stop. */
export function uncalledAgents({ agents, called }: CollaborationView): string[] {
  return agents.filter((agent) => !called.has(agent))
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
