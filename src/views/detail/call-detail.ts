import type { Event, EventOf, ToolPre } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { toolCallsFrom } from '../../kernel/model.ts'
import { parentStepKey } from '../../run-model/step-tree.ts'
import type { PanelBlock, PanelFact } from '../panel.ts'
import type { Detail, DetailSection } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { agentOf } from './detail-scope.ts'
import { eventIndex, eventsOfSession, eventsWithKey, rowIndex } from './event-index.ts'
import { fileChangeBlocks } from './file-change.ts'
import { errorFacts, firstLine } from './turn-detail.ts'
import { isObject, valueBlocks } from './value-blocks.ts'

/* A tool call: its arguments, its result or error, what it changed, and who allowed it. */

type CallEnd = EventOf<'tool:post'> | EventOf<'tool:error'>

export interface RecordedCall {
  key: string
  tool: string
  session_id: string | undefined
  input: unknown
  /** As the model wrote it, if a hook changed it. */
  original_input?: unknown
  begin: EventOf<'tool:pre'> | undefined
  end: CallEnd | undefined
  /** Permission questions and their answers. */
  gates: readonly GateExchange[]
  events: readonly Event[]
}

interface GateExchange {
  open: EventOf<'gate:open'>
  answer: EventOf<'gate:answer'> | undefined
}

export function recordedCall(scope: DetailScope, key: string): RecordedCall | undefined {
  const events = eventsWithKey(scope.events, key)
  const begin = events.find((event) => isEvent(event, 'tool:pre'))
  const end = events.findLast((event): event is CallEnd => isEvent(event, 'tool:post') || isEvent(event, 'tool:error'))
  const gates = permissionGates(scope, key)
  const first = begin ?? end
  const [gate] = gates
  if (!first && !gate) return undefined
  const requested = requestedCall(scope, key)
  const data: Partial<ToolPre> = begin?.data ?? {}
  return {
    key,
    tool: first?.data.tool ?? requested?.name ?? 'unknown',
    session_id: first?.session_id ?? gate?.open.session_id,
    input: begin ? data.input : requested?.input,
    ...('original_input' in data ? { original_input: data.original_input } : undefined),
    begin,
    end,
    gates,
    events: [...events, ...gates.flatMap(({ open, answer }) => (answer ? [open, answer] : [open]))].sort(
      (one, other) => one.seq - other.seq,
    ),
  }
}

function permissionGates({ events }: DetailScope, key: string): GateExchange[] {
  const { gates } = eventIndex(events)
  const opens = gates.filter((event) => isEvent(event, 'gate:open') && isBelow(event.data.key, `${key}/permission`))
  return opens.filter((event) => isEvent(event, 'gate:open')).map((open) => ({ open, answer: answerOf(events, open) }))
}

function isBelow(key: string, parent: string): boolean {
  return key === parent || key.startsWith(`${parent}/`)
}

export function answerOf(events: readonly Event[], { data }: EventOf<'gate:open'>): EventOf<'gate:answer'> | undefined {
  const { gates } = eventIndex(events)
  const found = gates.find((event) => isEvent(event, 'gate:answer') && event.data.gate_id === data.gate_id)
  return isEvent(found, 'gate:answer') ? found : undefined
}

/** The call as the model wrote it: for calls that failed or were asked about before they began. */
function requestedCall({ events }: DetailScope, key: string): { name: string; input: unknown } | undefined {
  const turnKey = parentStepKey(parentStepKey(key))
  const response = [`${turnKey}/model`, `${turnKey}/model/again`]
    .flatMap((modelKey) => eventsWithKey(events, modelKey))
    .findLast((event) => isEvent(event, 'model:end'))
  const ordinal = Number(key.slice(key.lastIndexOf('/') + 1))
  return isEvent(response, 'model:end') ? toolCallsFrom(response.data.message)[ordinal] : undefined
}

export function callDetail(scope: DetailScope, key: string): Detail | undefined {
  const call = recordedCall(scope, key)
  if (!call) return undefined
  return {
    ref: { kind: 'call', id: key },
    kind: `Call ${callNumber(scope, call)}`,
    title: `${call.tool} ${callTarget(call)}`.trim(),
    from: agentOf(scope, call.session_id),
    to: call.begin?.data.agent ?? null,
    state: callState(call),
    facts: callFacts(call),
    sections: [...inputSections(scope, call), ...resultSections(scope, call), ...permissionSections(scope, call)],
    json: call.events,
  }
}

/** The number of the call in its run. */
function callNumber(scope: DetailScope, { key }: RecordedCall): number {
  return rowIndex(scope.timeline()).callById.get(key)?.number ?? 1
}

const TARGET_FIELDS = ['file_path', 'path', 'command', 'url', 'pattern', 'query', 'agent', 'question', 'name']

/** The file, command, address or agent that a call is about. */
export function callTarget({ begin, input }: Pick<RecordedCall, 'begin' | 'input'>): string {
  const subject = begin?.data.subject ?? begin?.data.agent
  if (subject !== undefined) return firstLine(subject)
  if (!isObject(input)) return ''
  const found = TARGET_FIELDS.map((name) => input[name]).find((value) => typeof value === 'string')
  return firstLine(String(found ?? ''))
}

export function callState({ begin, end, gates }: RecordedCall): string {
  if (end) return end.type === 'tool:post' ? 'completed' : 'failed'
  if (gates.some(({ answer }) => !answer)) return 'waiting'
  return begin || gates.length > 0 ? 'running' : 'unknown'
}

function callFacts({ begin, end, gates }: RecordedCall): PanelFact[] {
  const started = begin ?? gates[0]?.open
  const facts: PanelFact[] = []
  if (started) facts.push({ label: 'started', value: started.at, unit: 'time' })
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
  const place = { session_id: call.session_id, before: call.begin?.seq ?? Number.POSITIVE_INFINITY }
  const changes = fileChangeBlocks(eventsOfSession(events, call.session_id), redact(call.input), place)
  const sections: DetailSection[] = [{ title: 'Input', note: call.tool, blocks: valueBlocks(redact(call.input)) }]
  if (changes.length > 0) sections.unshift({ title: 'Change', blocks: changes })
  if (call.original_input !== undefined)
    sections.push({ title: 'Input of the model, changed by a hook', blocks: valueBlocks(redact(call.original_input)) })
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
  const columns = [
    { key: 'path', title: 'File', unit: 'code' as const },
    { key: 'change', title: 'Change' },
  ]
  if (rows.length > 0) blocks.push({ kind: 'table', title: 'Files', columns, rows })
  if (blocks.length === 0) blocks.push({ kind: 'text', text: 'The result is empty.' })
  const section = end.type === 'tool:error' ? { title: 'Error', tone: 'bad' as const } : { title: 'Result' }
  return [{ ...section, blocks }]
}

function permissionSections({ redact }: DetailScope, { gates }: RecordedCall): DetailSection[] {
  if (gates.length === 0) return []
  const rows = gates.map(({ open, answer }) => ({
    asked: open.at,
    question: open.data.question,
    answer: answer ? answerText(redact(answer.data.answer)) : null,
    by: answer?.data.by ?? null,
    waited: answer ? answer.at - open.at : null,
  }))
  const columns = [
    { key: 'asked', title: 'Asked', unit: 'time' as const },
    { key: 'question', title: 'Question' },
    { key: 'answer', title: 'Answer' },
    { key: 'by', title: 'By' },
    { key: 'waited', title: 'Waited', unit: 'ms' as const },
  ]
  return [{ title: 'Permission', blocks: [{ kind: 'table', columns, rows }] }]
}

export function answerText(answer: unknown): string {
  return typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? '')
}
