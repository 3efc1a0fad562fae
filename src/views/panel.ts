/*
 * Panels: parts of a page that a pattern or a view describes as data and every surface draws in the same way. They hold text and
 * figures only; no markup.
 */

export type PanelTone = 'neutral' | 'good' | 'bad' | 'attention' | 'muted'

export type PanelValue = string | number | boolean | null

/** How a value is shown: `share` is from 0 to 1, `ms` a duration, `time` milliseconds since 1970, `agent` the name of an agent; `code` is exact. */
export type PanelUnit = 'text' | 'code' | 'count' | 'share' | 'usd' | 'ms' | 'tokens' | 'time' | 'state' | 'agent'

export interface PanelFact {
  label: string
  value: PanelValue
  unit?: PanelUnit
  tone?: PanelTone
}

export interface PanelColumn {
  key: string
  title: string
  unit?: PanelUnit
}

/** An entry of a plan, a check list or a review round. */
export interface PanelStep {
  title: string
  /** A word such as `running`, `completed`, `failed`, `waiting`, `pending` or `cancelled`; of a condition, `holds` or `does not hold`. */
  state: string
  agent?: string
  note?: string
  steps?: readonly PanelStep[]
}

/** A position with those who hold it. */
export interface PanelShare {
  label: string
  value: number
  tone?: PanelTone
  /** The agents behind it, with their weight. */
  by?: readonly { agent: string; value?: number; note?: string }[]
}

export interface PanelNode {
  id: string
  label: string
  state?: string
  note?: string
}

export interface PanelEdge {
  from: string
  to: string
  label?: string
  /** How often it was taken; 0 for one that was only possible. */
  count?: number
}

/** What is missing of a text of which only the beginning was sent. */
export interface PanelRest {
  /** The number of the block among those of its question, from 0. */
  block: number
  /** How many characters are here, and how many there are. */
  from: number
  length: number
}

/** Fields of every block. */
export interface PanelBlockHead {
  title?: string
  /** Explains a question and is not part of what is decided. Never taken from a title, which may be the name of a field that a model chose. */
  context?: true
  /** Explains or repeats what other blocks say: left out where there is little room, such as on a terminal without `--all`. */
  detail?: true
}

export type PanelBlock = PanelBlockHead & PanelContent

type PanelContent =
  | { kind: 'facts'; facts: readonly PanelFact[] }
  /** `claimed_by` names the agent whose words these are: shown as a claim, not as a fact. */
  | { kind: 'text'; text: string; claimed_by?: string }
  | { kind: 'code'; text: string; language?: string; rest?: PanelRest }
  | {
      kind: 'table'
      columns: readonly PanelColumn[]
      rows: readonly Readonly<Record<string, PanelValue>>[]
      empty?: string
    }
  | { kind: 'steps'; steps: readonly PanelStep[] }
  /** Shares of a whole, such as the votes for each position. */
  | { kind: 'shares'; unit?: PanelUnit; shares: readonly PanelShare[] }
  /** A directed graph, such as the handoffs of a team. */
  | { kind: 'graph'; nodes: readonly PanelNode[]; edges: readonly PanelEdge[] }
  /** A heat map: one value for each row and column. */
  | {
      kind: 'matrix'
      unit?: PanelUnit
      rows: readonly string[]
      columns: readonly string[]
      values: readonly (readonly (number | null)[])[]
    }
  /** The messages of a model request, in order, and its response. */
  | { kind: 'messages'; messages: readonly PanelMessage[] }
  /** A changed file as a unified diff. */
  | { kind: 'diff'; path: string; diff: string; rest?: PanelRest }
  /** A value that has no better form. */
  | { kind: 'json'; value: unknown }

export interface PanelMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  /** The text, the reasoning, a tool call or a tool result. */
  parts: readonly { kind: 'text' | 'reasoning' | 'call' | 'result'; name?: string; text: string }[]
}

/** A page of a run that its pattern brings, such as the agreement of a collaboration. */
export interface Panel {
  /** Part of its address: `agreement`, `handoffs`, `plan`. */
  id: string
  title: string
  /** A few words beside the title, such as `round 2 of 3`. */
  badge?: string
  blocks: readonly PanelBlock[]
}
