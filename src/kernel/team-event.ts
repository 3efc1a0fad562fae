import type { SteerAction } from './steer-action.ts'

/** Who decided that the work goes there. */
export type HandoffSource = 'exact' | 'verdict' | 'model' | 'after_work' | 'person' | 'supervisor'

type Truth = boolean | 'unknown'

/** Every rule that was tried, with each part's value and reason. */
export interface HandoffTrace {
  /** `to` is null where nobody comes next. */
  decision: { to: string | null; by: HandoffSource }
  rules: {
    from: string
    to: string
    priority: number
    holds: Truth
    parts: { text: string; kind: 'exact' | 'semantic'; value: Truth; reason: string }[]
  }[]
}

/** What the pattern `team` tells of its work. */
export interface TeamEventData {
  'team:start': {
    key: string
    team: string
    agents: number
    first: string
    /** Who fills open places, and by which words of the role. */
    filled_roles?: { name: string; uses: string; by: string[] }[]
    /** What `troupe team check` would have warned of. */
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
    /** Whom the speaker would have chosen; it decides nothing. */
    suggested?: string
    /** What it said beside the point: wrong types, unknown names. */
    problems?: string[]
    /** The variables that this turn set. */
    variables?: Readonly<Record<string, number | string | boolean>>
    /** What a group agreed on: no session holds these words. */
    agreed?: string
  }
  'team:group': { key: string; round: number; group: string; kind: 'parallel' | 'consensus'; members: string[] }
  'team:steered': { key: string; round: number; action: SteerAction; by: string; accepted: boolean; reason?: string }
  'team:loop': { key: string; round: number; kind: string; message: string; from: string; to: string }
  'team:compress': { key: string; round: number; before: number; after: number; messages: number; error?: string }
  'team:complete': { key: string; rounds: number; agent: string; reason: string }
}
