import type { ErrorRecord } from '../errors.ts'
import type { SessionEnd, SessionOpen, StopReason } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { ModelRows } from './rows.ts'

/*
 * The tree of a run: its sessions, tool calls and gates, each once, with the newest of its rows. Step keys are paths, so a node's parent is the node
 * with the longest key that is a prefix of its own.
 */

interface NodeSpan {
  key: string
  started_at: number
  ended_at: number | null
  children: RunNode[]
}

/** One segment of a session. */
export interface SessionNode extends NodeSpan {
  kind: 'session'
  session_id: string
  agent: string
  model: string | null
  segment: number
  depth: number
  status: 'running' | SessionEnd['status']
  stop_reason: StopReason | null
  instruction: string
  text: string
  error: ErrorRecord | null
  /** Model requests that ended or failed in this segment, and their tokens. */
  calls: number
  tokens: number
  /** Start time of the model request in flight. */
  model_call_since: number | null
  /** The events of its opening and its end. */
  opened_seq: number
  ended_seq: number | null
  row: ModelRows['sessions']
  lane: ModelRows['lanes']
  data: SessionOpen
  parent: SessionNode | undefined
  caller: ToolCallNode | undefined
  /** The response or the pattern that opened it, for groups. */
  opener: string
  /** The model of the first request. */
  sent_to: string | undefined
  /** Turns of the session, over all its segments. */
  turns: number
  openGates: number
  turn: TurnEntry | undefined
  link: ModelRows['links'] | undefined
  blocked: ModelRows['pauses'] | undefined
  /** The event of its newest response; 0 before the first. */
  responded_seq: number
  /** Its newest request, if that failed for good. */
  failure: { step: string; error: ErrorRecord; seq: number } | undefined
  /** Which agent got the result of this background session last, and the steps that recorded it. */
  collector: WorkReport | undefined
  results: string[]
  /** The pattern sends the messages of this session itself. */
  isSilent: boolean
}

export interface ToolCallNode extends NodeSpan {
  kind: 'call'
  tool: string
  status: 'running' | 'ok' | 'failed'
  error: ErrorRecord | null
  /** The events of its first beginning and of its outcome. */
  begun_seq: number | null
  ended_seq: number | null
  /** Set where the whole journal is at hand. */
  input?: unknown
  row: ModelRows['calls']
  session: SessionNode
  turn: TurnEntry | undefined
  group: string | null
  openGates: number
}

export interface GateNode extends NodeSpan {
  kind: 'gate'
  gate_id: string
  question: string
  choices: string[] | null
  asked_by: string | null
  answer: unknown
  answered_by: string | null
  row: ModelRows['gates']
  data: Gate
  session: SessionNode | undefined
  call: ToolCallNode | undefined
}

export type RunNode = SessionNode | ToolCallNode | GateNode

/** A turn has no children: the calls of its response are those of its session. */
export interface TurnEntry {
  row: ModelRows['turns']
  session: SessionNode
  /** Calls of the response that have not ended. */
  pending: number
}

/** A report to an agent about the work of others: the result of a call, or those of background sessions that are delivered at its end. */
export interface WorkReport {
  kind: 'call' | 'delivery'
  key: string
  seq: number
  session: SessionNode
  error: ErrorRecord | null
  /** The steps that it says to retry. */
  retry_keys: readonly string[]
}

export interface RunTree {
  readonly children: RunNode[]
  /** The newest node of each step key. */
  readonly byKey: Map<string, RunNode>
  /** The newest segment of each session, by session id. */
  readonly sessions: Map<string, SessionNode>
  /** The newest report of each step key, of those that tell of failures or of background sessions. */
  readonly reports: Map<string, WorkReport>
}

export function parentStepKey(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}

export function addNode<Node extends RunNode>(tree: RunTree, node: Node): Node {
  const parent = findEnclosing(tree, parentStepKey(node.key))
  ;(parent?.children ?? tree.children).push(node)
  tree.byKey.set(node.key, node)
  return node
}

/** The innermost node that contains this key. */
export function findEnclosing(tree: RunTree, key: string): RunNode | undefined
export function findEnclosing(tree: RunTree, key: string, kind: 'session'): SessionNode | undefined
export function findEnclosing(tree: RunTree, key: string, kind: 'call'): ToolCallNode | undefined
export function findEnclosing({ byKey }: RunTree, key: string, kind?: RunNode['kind']): RunNode | undefined {
  for (let path = key; path !== ''; path = parentStepKey(path)) {
    const node = byKey.get(path)
    if (node && (kind === undefined || node.kind === kind)) return node
  }
  return undefined
}

export function nodeAt<Kind extends RunNode['kind']>(
  { byKey }: RunTree,
  key: string,
  kind: Kind,
): Extract<RunNode, { kind: Kind }> | undefined {
  const node = byKey.get(key)
  return node?.kind === kind ? (node as Extract<RunNode, { kind: Kind }>) : undefined
}

/** All nodes in the order of the tree, with those of earlier attempts. */
export function* nodesIn(nodes: readonly RunNode[]): Generator<RunNode> {
  for (const node of nodes) {
    yield node
    yield* nodesIn(node.children)
  }
}

/** Whether other work has begun since under the same key. */
export function isEarlierAttempt({ byKey }: RunTree, node: RunNode): boolean {
  return byKey.get(node.key) !== node
}

/** Running sessions, in the order in which they were opened. */
export function activeSessions({ byKey }: RunTree): SessionNode[] {
  return [...byKey.values()].flatMap((node) => (node.kind === 'session' && node.status === 'running' ? node : []))
}
