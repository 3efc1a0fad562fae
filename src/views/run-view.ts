import type { Event } from '../kernel/event.ts'
import type { PatternSource } from '../run-model/run-model.ts'
import type { RunNode } from '../run-model/step-tree.ts'
import { nodeAt } from '../run-model/step-tree.ts'
import type { PatternView } from './pattern-view.ts'
import type { TimelineState } from './timeline/reduce-timeline.ts'
import { newTimeline, reduceTimeline } from './timeline/reduce-timeline.ts'

export { isPatternEvent, reduceRun } from '../run-model/reduce-run.ts'
export type { GateNode, RunNode, SessionNode, ToolCallNode } from '../run-model/step-tree.ts'
export { activeSessions, findEnclosing, isEarlierAttempt } from '../run-model/step-tree.ts'

/** The view of a pattern, loaded. */
export type LoadedView = PatternSource<PatternView>

/** The model of a run as people see it: its tree, its rows and the states of the patterns' views. */
export type RunView = TimelineState

/** `views` are those of the patterns that this process knows. */
export function newRunView(views: readonly LoadedView[] = []): RunView {
  return newTimeline({ views })
}

/** The view of a whole journal; calls have their input. */
export function runViewFrom(events: readonly Event[], views: readonly LoadedView[] = []): RunView {
  const view = newRunView(views)
  for (const event of events) {
    reduceTimeline(view, event)
    const call = event.type === 'tool:pre' ? nodeAt(view, event.data.key, 'call') : undefined
    if (event.type === 'tool:pre' && call) call.input = event.data.input
  }
  return view
}

/** The nodes of a tree as `show --json` prints them. */
export function treeRecords(nodes: readonly RunNode[]): object[] {
  return nodes.map((node) => {
    const { kind, key, started_at, ended_at } = node
    const common = { kind, key, ...ownFields(node), started_at, ended_at }
    return { ...common, children: treeRecords(node.children) }
  })
}

function ownFields(node: RunNode): object {
  switch (node.kind) {
    case 'session': {
      const { session_id, agent, model, segment, depth, status, stop_reason, instruction, text, error } = node
      const { calls, tokens, model_call_since } = node
      const end = { status, stop_reason, instruction, text, error, calls, tokens, model_call_since }
      return { session_id, agent, model, segment, depth, ...end }
    }
    case 'call': {
      const { tool, input, status, error, row } = node
      return { tool, delegates: row.kind === 'pattern', input, status, error }
    }
    case 'gate': {
      const { gate_id, question, choices, asked_by, answer, answered_by } = node
      return { gate_id, question, choices, asked_by, answer, answered_by }
    }
  }
}
