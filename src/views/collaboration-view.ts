import type { Event } from '../kernel/event.ts'

/*
 * What a journal tells of collaborations: who was asked as what, and what each recommends. Everything that specialists are
 * given begins with the same task, so that their lines name what is their own instead.
 */

export interface CollaborationView {
  /** The step that it is; empty where the whole run is one. */
  key: string
  agents: string[]
  mode: string
  asked: Set<string>
}

/** One specialist, by the key of its session. */
export interface SpecialistView {
  agent: string
  role: string
  subtask: string | null
  recommendation: string | null
  confidence: number | null
}

export interface CollaborationViews {
  byKey: Map<string, CollaborationView>
  specialists: Map<string, SpecialistView>
}

export function reduceCollaboration({ byKey, specialists }: CollaborationViews, event: Event): void {
  switch (event.type) {
    case 'tool:collaborative:start': {
      const { key, agents, mode } = event.data
      byKey.set(parentStepKey(key), { key: parentStepKey(key), agents, mode, asked: new Set() })
      return
    }
    case 'tool:collaborative:agent:start': {
      const { key, agent, role, subtask = null } = event.data
      specialists.set(parentStepKey(key), { agent, role, subtask, recommendation: null, confidence: null })
      enclosingCollaboration({ byKey, specialists }, key)?.asked.add(agent)
      return
    }
    case 'tool:collaborative:agent:complete': {
      const { key, recommendation = null, confidence = null } = event.data
      const voice = specialists.get(parentStepKey(key))
      if (voice) Object.assign(voice, { recommendation, confidence })
      return
    }
    default:
  }
}

/** The innermost collaboration that a key lies in. */
export function enclosingCollaboration({ byKey }: CollaborationViews, key: string): CollaborationView | undefined {
  for (let path = parentStepKey(key); path !== ''; path = parentStepKey(path)) {
    const found = byKey.get(path)
    if (found) return found
  }
  return byKey.get('')
}

export function parentStepKey(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

/** The specialists that nobody had to ask. */
export function unaskedAgents({ agents, asked }: CollaborationView): string[] {
  return agents.filter((agent) => !asked.has(agent))
}

const SYSTEM_AGENT_PURPOSES: Record<string, string> = {
  'synthesis/coordinator': 'writes the answer',
  'synthesis/evaluator': 'scores the answers',
  judge: 'compares recommendations',
}

/** What a session of a collaboration is there for; `undefined` for all others. */
export function collaborationSessionPurpose(known: CollaborationViews, key: string): string | undefined {
  const voice = known.specialists.get(key)
  const within = enclosingCollaboration(known, key)
  if (!within) return undefined
  if (voice && within.mode === 'hierarchical' && voice.role === 'coordinator') return 'divides the work'
  const path = within.key === '' ? key : key.slice(within.key.length + 1)
  if (voice) return path.startsWith('mediation/') ? 'hears the others' : (voice.subtask ?? voice.role)
  return SYSTEM_AGENT_PURPOSES[path] ?? SYSTEM_AGENT_PURPOSES[path.slice(path.lastIndexOf('/') + 1)]
}

/** `95 % sure: request changes`; empty where nothing was recommended. */
export function formatRecommendation({
  recommendation,
  confidence,
}: Pick<SpecialistView, 'recommendation' | 'confidence'>): string {
  if (recommendation === null) return ''
  return confidence === null ? recommendation : `${Math.round(confidence * 100)} % sure: ${recommendation}`
}

/** What a structured answer says in words. */
export function responseText(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { response, plan } = JSON.parse(text) as { response?: unknown; plan?: unknown }
    return [response, plan].find((words) => typeof words === 'string') ?? text
  } catch {
    return text
  }
}
