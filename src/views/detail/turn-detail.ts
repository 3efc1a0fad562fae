import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Usage } from '../../kernel/model.ts'
import { toolCallsFrom } from '../../kernel/model.ts'
import { pluralize } from '../format-amount.ts'
import type { PanelBlock, PanelFact } from '../panel.ts'
import { tableBlock } from '../panel-blocks.ts'
import type { Detail, DetailSection } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { eventsOfStep, rowIndex } from './event-index.ts'
import type { SentRequestView } from './model-request.ts'
import { recordedRequest } from './model-request.ts'
import { sharedThread } from './shared-thread.ts'
import { assistantParts } from './value-blocks.ts'

/* A turn: the exact request, the response with its reasoning, and the attempts at it. */

type Outcome = EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>
type Begin = EventOf<'model:begin'>

export function turnDetail(scope: DetailScope, id: string): Detail | undefined {
  const { turnById, sessions } = rowIndex(scope.timeline())
  const turn = id.replace(/#\d+$/, '')
  const own = turnById.get(id) ?? turnById.get(turn.replace(/\/model$/, ''))
  const session_id = sessions.get(own?.session ?? '')?.session_id
  const newest = scope.model().index.turns.get(turn)
  // Attempts of one session are one turn; another session with the same keys did work of its own.
  const row = newest?.session.session_id === session_id ? newest?.row : own
  const events = [turn, `${turn}/model`, `${turn}/model/again`]
    .flatMap((key) => eventsOfStep(scope.events, key, session_id))
    .filter(({ type }) => type.startsWith('model:'))
    .sort((one, other) => one.seq - other.seq)
  const begins = events.filter((event) => isEvent(event, 'model:begin'))
  const begin = begins.at(-1)
  if (!begin) return undefined
  const outcomes = events.filter(isOutcome)
  const outcome = outcomes.find(({ seq }) => seq > begin.seq)
  const request = recordedRequest(scope.events, begin, {
    ...(scope.options.earlier ? { earlier: scope.options.earlier } : undefined),
    conversations: scope.cache.conversations,
    thread: (open) => sharedThread(scope, open),
  })
  const attempts = begins.map((each) => [each, outcomeOf(each, outcomes)] as const)
  return {
    ref: { kind: 'turn', id },
    kind: `Turn ${Math.max(1, row?.number ?? 1)}`,
    title: row?.title ?? '',
    from: request?.opening.agent.name ?? null,
    to: null,
    state: turnState(outcome),
    facts: turnFacts(scope, begin, outcome),
    sections: [
      ...responseSections(scope, outcome),
      ...(request ? requestSections(scope, request) : []),
      ...(attempts.length > 1 ? [{ title: 'Attempts', blocks: attemptTable(attempts) }] : []),
    ],
    json: events,
  }
}

export function isOutcome(event: Event): event is Outcome {
  return isEvent(event, 'model:end') || isEvent(event, 'model:error') || isEvent(event, 'model:lost')
}

export function outcomeOf(begin: Begin, outcomes: readonly Outcome[]): Outcome | undefined {
  return outcomes.find(
    ({ seq, data }) => seq > begin.seq && data.key === begin.data.key && data.attempt === begin.data.attempt,
  )
}

function turnState(outcome: Outcome | undefined): string {
  if (!outcome) return 'running'
  if (outcome.type === 'model:end') return 'completed'
  if (outcome.type === 'model:lost') return 'lost'
  return outcome.data.retry ? 'running' : 'failed'
}

function turnFacts({ options }: DetailScope, begin: Begin, outcome: Outcome | undefined): PanelFact[] {
  const { model } = begin.data
  const facts: PanelFact[] = [
    { label: 'model', value: model },
    { label: 'sent', value: begin.at, unit: 'time' },
  ]
  if (begin.data.phase) facts.push({ label: 'purpose', value: 'summary for context compaction' })
  if (!outcome) return facts
  facts.push({ label: 'duration', value: outcome.at - begin.at, unit: 'ms' })
  if (outcome.type === 'model:lost')
    return [
      ...facts,
      { label: 'lost, reserved', value: outcome.data.reserved.tokens, unit: 'tokens', tone: 'attention' },
    ]
  const { usage, estimated, refused_usage } = outcome.data
  const usd = options.prices?.cost(model, usage, begin.at) ?? outcome.data.usd
  facts.push(...usageFacts(usage), { label: 'cost', value: usd, unit: 'usd' })
  const reason = refused_usage === undefined ? 'reported none' : `reported what cannot be true (${refused_usage})`
  if (estimated) facts.push({ label: 'usage', value: `estimated: the provider ${reason}`, tone: 'attention' })
  if (outcome.type === 'model:end') facts.push({ label: 'stop', value: outcome.data.stop })
  return facts
}

export function usageFacts(usage: Usage): PanelFact[] {
  return [
    { label: 'input', value: usage.input, unit: 'tokens' },
    { label: 'cached', value: usage.cache_read, unit: 'tokens' },
    { label: 'output', value: usage.output, unit: 'tokens' },
    ...(usage.reasoning > 0 ? [{ label: 'reasoning', value: usage.reasoning, unit: 'tokens' as const }] : []),
  ]
}

function responseSections({ redact }: DetailScope, outcome: Outcome | undefined): DetailSection[] {
  if (!outcome) return [{ title: 'Response', blocks: [{ kind: 'text', text: 'The response has not arrived yet.' }] }]
  if (outcome.type === 'model:end') {
    const parts = assistantParts(redact(outcome.data.message))
    const calls = toolCallsFrom(outcome.data.message).length
    const note = calls === 0 ? undefined : { note: `${calls} tool call${calls === 1 ? '' : 's'}` }
    return [{ title: 'Response', ...note, blocks: [{ kind: 'messages', messages: [{ role: 'assistant', parts }] }] }]
  }
  const partial = outcome.data.partial_text ?? ''
  const blocks: PanelBlock[] =
    outcome.type === 'model:error'
      ? [{ kind: 'facts', facts: errorFacts(outcome.data.error) }]
      : [{ kind: 'text', text: `No response: the request was lost (${outcome.data.reason}).` }]
  if (partial !== '') blocks.push({ kind: 'code', title: 'Text before it ended', text: partial })
  return [{ title: 'Response', tone: 'bad', blocks }]
}

export function errorFacts({ code, message, hint }: { code: string; message: string; hint?: string }): PanelFact[] {
  return [
    { label: 'error', value: code, unit: 'code', tone: 'bad' },
    { label: 'message', value: message },
    ...(hint ? [{ label: 'hint', value: hint }] : []),
  ]
}

function requestSections(scope: DetailScope, request: SentRequestView): DetailSection[] {
  const { opening, system, messages, verified, missing_messages, changed_by_hook } = request
  const isWhole = verified && missing_messages === 0
  const match = isWhole ? 'as recorded: its hash matches' : 'the rest is as recorded: its hash matches'
  const notes = [
    ...(missing_messages > 0
      ? [
          `preceded by ${pluralize(missing_messages, 'message')} of the shared conversation that the journal does not have`,
        ]
      : []),
    verified ? match : 'its hash differs from the recorded one',
    ...(changed_by_hook ? ['changed by a hook'] : []),
  ]
  const shown = scope.redact(messages).map(scope.cache.panelMessage)
  const prompt = system === '' ? [] : [{ role: 'system' as const, parts: [{ kind: 'text' as const, text: system }] }]
  return [
    {
      title: 'Request',
      note: notes.join('; '),
      tone: isWhole ? 'good' : 'bad',
      blocks: [{ kind: 'messages', messages: [...prompt, ...shown] }],
    },
    ...toolSections(scope, opening.tools),
    ...settingsSections(opening),
  ]
}

function toolSections({ options }: DetailScope, names: readonly string[]): DetailSection[] {
  if (names.length === 0) return []
  const specs = new Map((options.toolSpecs?.(names) ?? []).map((spec) => [spec.name, spec]))
  const schemas = Object.fromEntries(names.flatMap((name) => (specs.has(name) ? [[name, specs.get(name)?.input]] : [])))
  const blocks = tableBlock({}, names, {
    name: ['Tool', (name) => name, 'code'],
    description: ['Description', (name) => specs.get(name)?.description],
  })
  if (specs.size > 0) blocks.push({ kind: 'json', title: 'Schemas', value: schemas })
  const note = 'the journal has their names; descriptions and schemas are those of this installation'
  return [{ title: `Tools, ${names.length}`, note, blocks }]
}

export const SETTINGS = ['temperature', 'top_p', 'seed', 'tool_choice', 'effort'] as const

function settingsSections({ agent }: SentRequestView['opening']): DetailSection[] {
  const facts = SETTINGS.flatMap((label): PanelFact[] => {
    const value = agent[label]
    if (value === undefined) return []
    return [{ label, value: typeof value === 'object' ? JSON.stringify(value) : value, unit: 'code' }]
  })
  return facts.length === 0 ? [] : [{ title: 'Settings', blocks: [{ kind: 'facts', facts }] }]
}

function attemptTable(attempts: readonly (readonly [Begin, Outcome | undefined])[]): PanelBlock[] {
  return tableBlock({}, attempts, {
    attempt: ['Attempt', ([{ data }]) => data.attempt, 'count'],
    model: ['Model', ([{ data }]) => data.model],
    at: ['Sent', ([{ at }]) => at, 'time'],
    state: [
      'State',
      ([, outcome]) => (outcome && turnState(outcome) === 'running' ? 'failed' : turnState(outcome)),
      'state',
    ],
    duration: ['Took', ([begin, outcome]) => outcome && outcome.at - begin.at, 'ms'],
    error: ['Error', ([, outcome]) => (isEvent(outcome, 'model:error') ? outcome.data.error.message : null)],
    left_out: [
      'Refused, left out',
      ([, outcome]) => (isEvent(outcome, 'model:error') ? outcome.data.refused?.feature : null),
      'code',
    ],
  })
}
