import type { Event, SessionEnd, Status } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { nodesIn } from '../../run-model/step-tree.ts'
import type { LoadedView, RunNode, RunView, SessionNode, ToolCallNode } from '../run-view.ts'
import { runViewFrom } from '../run-view.ts'
import type { SessionStatus } from './agent-session.ts'
import type { PatternSessionFile } from './pattern-session-file.ts'

/** The contribution of one pattern, with the state of its view. */
export interface SessionFileContribution {
  name: string
  events: ReadonlySet<string>
  source: PatternSessionFile
  state: unknown
}

/** The run that a file is about. */
export interface FileScope {
  model: RunView
  events: readonly Event[]
  sessions: readonly SessionNode[]
  /** Calls that began or ended. */
  calls: readonly ToolCallNode[]
  contributions: readonly SessionFileContribution[]
  /** The pattern of the run, if it contributes. */
  own: SessionFileContribution | undefined
  /** The time of its end; `undefined` while it is in progress. */
  ended_at: number | undefined
  eventAt(seq: number | null): Event | undefined
  /** The id of a call, or of the delegation of a session. */
  callId(node: RunNode): string
}

export function fileScope(events: readonly Event[], views: readonly LoadedView[]): FileScope {
  const model = runViewFrom(events, views)
  const nodes = [...nodesIn(model.children)]
  const sessions = nodes.filter((node) => node.kind === 'session').sort((a, b) => a.opened_seq - b.opened_seq)
  const began = ({ begun_seq, ended_seq }: ToolCallNode) => begun_seq ?? ended_seq ?? 0
  const calls = nodes.filter((node) => node.kind === 'call' && began(node) > 0) as ToolCallNode[]
  const bySeq = new Map(events.map((event) => [event.seq, event]))
  const contributions = model.patterns.flatMap((pattern) =>
    pattern.view.sessionFile ? { ...pattern, source: pattern.view.sessionFile } : [],
  )
  return {
    model,
    events,
    sessions,
    calls: calls.sort((a, b) => began(a) - began(b)),
    callId: uniqueIds([...sessions, ...calls]),
    contributions,
    own: contributions.find(({ name }) => name === model.start?.pattern),
    ended_at: model.end ? model.clock.recorded : undefined,
    eventAt: (seq) => (seq === null ? undefined : bySeq.get(seq)),
  }
}

/** Step keys; those of another attempt have `#2` and so on. */
function uniqueIds(nodes: readonly RunNode[]): (node: RunNode) => string {
  const attempts = new Map<string, RunNode[]>()
  for (const node of nodes) attempts.set(node.key, [...(attempts.get(node.key) ?? []), node])
  return (node) => {
    const attempt = attempts.get(node.key)?.indexOf(node) ?? 0
    return attempt > 0 ? `${node.key}#${attempt + 1}` : node.key
  }
}

export function segmentEnd({ eventAt }: FileScope, { ended_seq }: SessionNode): SessionEnd | undefined {
  const end = eventAt(ended_seq)
  return isEvent(end, 'session:end') ? end.data : undefined
}

export function toIso(at: number): string {
  return new Date(at).toISOString()
}

/** `waiting` is in progress; `cancelled` has failed; a run that completed with a partial result is a success, and its `stop_reason` says so. */
const SESSION_STATUSES: Readonly<Record<Status, SessionStatus>> = {
  pending: 'in_progress',
  running: 'in_progress',
  waiting: 'in_progress',
  completed: 'success',
  failed: 'failed',
  cancelled: 'failed',
}

export function toSessionStatus(status: Status): SessionStatus {
  return SESSION_STATUSES[status]
}

/** The status of a session; one that the end of the run cut off has failed. */
export function sessionStatus({ model }: FileScope, { status }: SessionNode): SessionStatus {
  return toSessionStatus(status === 'running' && model.end ? 'failed' : status)
}
