import type { SteerAction } from './steer-action.ts'

/** The decider of a handoff. */
export type HandoffSource = 'exact' | 'verdict' | 'model' | 'after_work' | 'person' | 'supervisor'

type Truth = boolean | 'unknown'

/** Explanation of a handoff: every rule that was evaluated, with the value and reason of each part. */
export interface HandoffTrace {
  /** `to` is null if the team ends. */
  decision: { to: string | null; by: HandoffSource }
  rules: {
    from: string
    to: string
    priority: number
    holds: Truth
    parts: { text: string; kind: 'exact' | 'semantic'; value: Truth; reason: string }[]
  }[]
}

/** Events of the `team` pattern. */
export interface TeamEventData {
  'team:start': {
    key: string
    team: string
    agents: number
    first: string
    /** Agents chosen for open roles, and the role terms that matched. */
    filled_roles?: { name: string; uses: string; by: string[] }[]
    /** Warnings of `troupe team check`. */
    warnings?: string[]
  }
  'team:turn': { key: string; round: number; agent: string }
  'team:handoff': {
    key: string
    round: number
    from: string
    to: string | null
    by: HandoffSource
    handoff_reason: string
    explanation: HandoffTrace
    /** The agent's own suggestion, without effect on the decision. */
    suggested?: string
    /** Invalid parts of the agent's response, such as wrong types or unknown names. */
    problems?: string[]
    /** The variables that this turn set. */
    variables?: Readonly<Record<string, number | string | boolean>>
    /** A group's agreed text, which is in no session. */
    agreed?: string
  }
  'team:group': { key: string; round: number; group: string; kind: 'parallel' | 'consensus'; members: string[] }
  'team:steered': { key: string; round: number; action: SteerAction; by: string; accepted: boolean; reason?: string }
  'team:loop': { key: string; round: number; kind: string; message: string; from: string; to: string }
  'team:compress': { key: string; round: number; before: number; after: number; messages: number; error?: string }
  'team:complete': { key: string; rounds: number; agent: string; reason: string }
}
