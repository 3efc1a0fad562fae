import type { EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { toolCallsFrom } from '../../kernel/model.ts'
import { parentStepKey } from '../../run-model/step-tree.ts'
import type { PanelBlock, PanelFact } from '../panel.ts'
import { tableBlock } from '../panel-blocks.ts'
import type { GateNode, ToolCallNode } from '../run-view.ts'
import { toolTarget } from '../tool-input.ts'
import type { Detail, DetailSection } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { callOfRow, eventsOfSession, eventsOfStep } from './event-index.ts'
import { fileChangeBlocks } from './file-change.ts'
import { errorFacts } from './turn-detail.ts'
import { valueBlocks } from './value-blocks.ts'

/* A tool call: its arguments, its result or error, what it changed, and who allowed it. */

/** A call with the events of its beginning and its outcome. */
export interface RecordedCall {
  node: ToolCallNode
  input: unknown
  begin: EventOf<'tool:pre'> | undefined
  end: EventOf<'tool:post'> | EventOf<'tool:error'> | undefined
  /** Permission questions. */
  gates: readonly GateNode[]
}

/** `id` is that of its row, or the step key. */
export function recordedCall(scope: DetailScope, id: string): RecordedCall | undefined {
  const node = callOfRow(scope.model(), id)
  if (!node) return undefined
  const { key, session } = node
  const events = eventsOfStep(scope.events, key, session.session_id)
  const begin = events.find((event) => isEvent(event, 'tool:pre'))
  const end = events.findLast((event) => isEvent(event, 'tool:post') || isEvent(event, 'tool:error'))
  const gates = node.children.filter((child) => child.kind === 'gate')
  return {
    node,
    input: begin ? begin.data.input : requestedInput(scope, node),
    begin,
    end,
    gates: gates.filter((gate) => `${gate.key}/`.startsWith(`${key}/permission/`)),
  }
}

/** The input as the model wrote it: for calls that failed or were asked about before they began. */
function requestedInput({ events }: DetailScope, { key, session }: ToolCallNode): unknown {
  const turnKey = parentStepKey(parentStepKey(key))
  const response = [`${turnKey}/model`, `${turnKey}/model/again`]
    .flatMap((modelKey) => eventsOfStep(events, modelKey, session.session_id))
    .findLast((event) => isEvent(event, 'model:end'))
  return response && toolCallsFrom(response.data.message)[Number(key.slice(key.lastIndexOf('/') + 1))]?.input
}

export function callDetail(scope: DetailScope, id: string): Detail | undefined {
  const call = recordedCall(scope, id)
  if (!call) return undefined
  const { node, begin, gates } = call
  const { row } = node
  return {
    ref: { kind: 'call', id },
    kind: `Call ${row.number}`,
    // A call that was refused before it began has no target.
    title: `${node.tool} ${row.target || toolTarget(call)}`.trim(),
    from: node.session.agent,
    to: begin?.data.agent ?? null,
    state: row.status === 'ok' ? 'completed' : row.status,
    facts: callFacts(call),
    sections: [...inputSections(scope, call), ...resultSections(scope, call), ...permissionSections(scope, call)],
    json: [node.key, ...gates.map(({ key }) => key)]
      .flatMap((key) => eventsOfStep(scope.events, key, node.session.session_id))
      .sort((one, other) => one.seq - other.seq),
  }
}

function callFacts({ node, begin, end }: RecordedCall): PanelFact[] {
  const facts: PanelFact[] = [{ label: 'started', value: begin?.at ?? node.started_at, unit: 'time' }]
  if (begin && end) facts.push({ label: 'duration', value: end.at - begin.at, unit: 'ms' })
  if (begin) facts.push({ label: 'category', value: begin.data.category }, { label: 'effect', value: begin.data.kind })
  if (isEvent(end, 'tool:post') && end.data.truncated)
    facts.push({
      label: 'left out',
      value: `${end.data.truncated} characters, before the agent saw it`,
      tone: 'attention',
    })
  if (isEvent(end, 'tool:post') && end.data.recovered)
    facts.push({ label: 'recovered', value: 'its effect was found out after a crash', tone: 'attention' })
  return facts
}

function inputSections({ redact, events }: DetailScope, call: RecordedCall): DetailSection[] {
  const { session, tool } = call.node
  const place = { session_id: session.session_id, before: call.begin?.seq ?? Number.POSITIVE_INFINITY }
  const changes = fileChangeBlocks(eventsOfSession(events, session.session_id), redact(call.input), place)
  const sections: DetailSection[] = [{ title: 'Input', note: tool, blocks: valueBlocks(redact(call.input)) }]
  if (changes.length > 0) sections.unshift({ title: 'Change', blocks: changes })
  const { original_input } = call.begin?.data ?? {}
  if (original_input !== undefined)
    sections.push({ title: 'Input of the model, changed by a hook', blocks: valueBlocks(redact(original_input)) })
  return sections
}

function resultSections({ redact }: DetailScope, { end }: RecordedCall): DetailSection[] {
  if (!end) return []
  const { files = [], created = [], deleted = [] } = end.data
  const blocks: PanelBlock[] = []
  if (end.type === 'tool:error') blocks.push({ kind: 'facts', facts: errorFacts(redact(end.data.detail)) })
  blocks.push(...valueBlocks(redact(end.data.output)))
  const rows = [
    ...files.map((path) => ({ path, change: created.includes(path) ? 'created' : 'modified' })),
    ...deleted.map((path) => ({ path, change: 'deleted' })),
  ]
  const path = ['File', (row: (typeof rows)[number]) => row.path, 'code'] as const
  blocks.push(...tableBlock({ title: 'Files' }, rows, { path, change: ['Change', ({ change }) => change] }))
  if (blocks.length === 0) blocks.push({ kind: 'text', text: 'The result is empty.' })
  const section = end.type === 'tool:error' ? { title: 'Error', tone: 'bad' as const } : { title: 'Result' }
  return [{ ...section, blocks }]
}

function permissionSections({ redact }: DetailScope, { gates }: RecordedCall): DetailSection[] {
  if (gates.length === 0) return []
  const blocks = tableBlock({}, gates, {
    asked: ['Asked', ({ started_at }) => started_at, 'time'],
    question: ['Question', ({ question }) => question],
    answer: ['Answer', ({ answer, ended_at }) => (ended_at === null ? null : answerText(redact(answer)))],
    by: ['By', ({ answered_by }) => answered_by],
    waited: ['Waited', ({ started_at, ended_at }) => ended_at && ended_at - started_at, 'ms'],
  })
  return [{ title: 'Permission', blocks }]
}

export function answerText(answer: unknown): string {
  return typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? '')
}
