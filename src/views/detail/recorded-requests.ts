import type { ErrorRecord } from '../../errors.ts'
import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { AssistantMessage, Message, ModelStop, ToolSpec, Usage } from '../../kernel/model.ts'
import { createDetailCache } from './detail-cache.ts'
import type { DetailOptions, DetailScope } from './detail-scope.ts'
import type { SentRequestView } from './model-request.ts'
import { recordedRequest } from './model-request.ts'
import { sharedThread } from './shared-thread.ts'
import { isOutcome, outcomeOf, SETTINGS } from './turn-detail.ts'

interface RequestPlace {
  /** From 1, in the order in which the requests of the run began. */
  number: number
  seq: number
  session_id: string | null
  agent: string
  key: string
  attempt: number
  model: string
  at: number
  /** Set when a resume has worked out anew what this request belongs to. */
  cut?: true
}

interface RequestOutcome {
  /** `open`: the journal has no outcome. */
  status: 'completed' | 'failed' | 'lost' | 'open'
  response_status: number | null
  request_id: string | null
  first_byte_ms: number | null
  duration_ms: number | null
  stop: ModelStop | null
  usage: Usage | null
  usd: number | null
  estimated: boolean
  /** The response with reasoning and tool calls. */
  response: AssistantMessage | null
  /** Text that arrived before the request failed. */
  partial_text: string
  error: ErrorRecord | null
}

/** A model request of a run, one for each attempt, rebuilt from the journal. Texts went through `redact`. */
export interface RequestRecord extends RequestPlace, RequestOutcome {
  /** `sent`: the hash in the journal proves system prompt and messages as sent. Else why they are rebuilt, and not proved. */
  proof: 'sent' | string
  /** `null` if the journal lacks the opening of the session. */
  request: RequestContent | null
}

export interface RequestContent {
  system: string
  messages: Message[]
  /** Names are as recorded; descriptions and schemas are those of this installation. */
  tools: (Pick<ToolSpec, 'name'> & Partial<ToolSpec>)[]
  /** The settings that the agent was given, and the granted `max_output`. */
  settings: Record<string, unknown>
}

export interface RequestsOptions extends Pick<DetailOptions, 'views' | 'prices' | 'redactor' | 'toolSpecs'> {
  /** The events of a session in earlier runs, which this run resumed. */
  earlier?(session_id: string): readonly Event[]
}

/** The model requests of a journal, also of one that is cut off. */
export function recordedRequests(events: readonly Event[], options: RequestsOptions = {}): RequestRecord[] {
  const { views, prices, redactor, earlier, ...rest } = options
  const cache = createDetailCache(events, views ? { views } : {}, redactor)
  const { model, redact } = cache
  const detailOptions = { ...rest, ...(views ? { views } : undefined), ...(prices ? { prices } : undefined) }
  const scope: DetailScope = { events, options: detailOptions, cache, redact, model, timeline: () => model().tables }
  const outcomes = Map.groupBy(events.filter(isOutcome), ({ data }) => data.key)
  const cuts = events.filter((event) => isEvent(event, 'run:cut'))
  const begins = events.filter((event) => isEvent(event, 'model:begin'))
  return begins.map((begin, index) => {
    const sent = recordedRequest(events, begin, {
      ...(earlier && begin.session_id !== undefined ? { earlier: earlier(begin.session_id) } : undefined),
      conversations: cache.conversations,
      thread: (open) => sharedThread(scope, open),
    })
    const { key, attempt, model: name } = begin.data
    const isCut = cuts.some(
      ({ seq, data }) => seq > begin.seq && data.keys.some((cut) => `${key}/`.startsWith(`${cut}/`)),
    )
    return {
      ...{
        number: index + 1,
        seq: begin.seq,
        session_id: begin.session_id ?? null,
        agent: sent?.opening.agent.name ?? '',
      },
      ...{ key, attempt, model: name, at: begin.at },
      ...(isCut ? { cut: true as const } : undefined),
      ...outcomeFacts(scope, begin, outcomeOf(begin, outcomes.get(key) ?? [])),
      proof: proofOf(sent),
      request: sent ? contentOf(scope, begin, sent) : null,
    }
  })
}

function outcomeFacts(
  { options, redact }: DetailScope,
  begin: EventOf<'model:begin'>,
  outcome: ReturnType<typeof outcomeOf>,
): RequestOutcome {
  const none = {
    ...{ response_status: null, request_id: null, first_byte_ms: null, duration_ms: null, stop: null, usage: null },
    ...{ usd: null, estimated: false, response: null, partial_text: '', error: null },
  }
  if (!outcome) return { ...none, status: 'open' }
  const duration_ms = outcome.at - begin.at
  if (outcome.type === 'model:lost')
    return { ...none, status: 'lost', duration_ms, partial_text: redact(outcome.data.partial_text ?? '') }
  const { usage, estimated, response } = outcome.data
  const isEnd = outcome.type === 'model:end'
  return {
    ...none,
    ...{
      status: isEnd ? 'completed' : 'failed',
      response_status: response?.status ?? null,
      duration_ms,
      usage,
      estimated: estimated === true,
    },
    ...{ request_id: response?.request_id ?? null, first_byte_ms: response?.first_byte_ms ?? null },
    usd: options.prices?.cost(begin.data.model, usage, begin.at) ?? outcome.data.usd,
    ...(isEnd
      ? { stop: outcome.data.stop, response: redact(outcome.data.message) }
      : { partial_text: redact(outcome.data.partial_text), error: redact(outcome.data.error) }),
  }
}

function proofOf(sent: SentRequestView | undefined): RequestRecord['proof'] {
  if (!sent) return 'the journal lacks the opening of its session'
  if (sent.missing_messages > 0)
    return `the journal lacks ${sent.missing_messages} messages of the conversation that agents share`
  if (!sent.verified) return 'its hash differs: it was sent by another version, or the journal lacks a part of it'
  return 'sent'
}

function contentOf(
  { options, redact }: DetailScope,
  { data }: EventOf<'model:begin'>,
  { opening, system, messages }: SentRequestView,
): RequestContent {
  const specs = new Map((options.toolSpecs?.(opening.tools) ?? []).map((spec) => [spec.name, spec]))
  const given = SETTINGS.flatMap((name) => (opening.agent[name] === undefined ? [] : [[name, opening.agent[name]]]))
  const max_output = data.max_output === undefined ? [] : [['max_output', data.max_output]]
  return {
    system: redact(system),
    // Copied: the fold of the session adds to its own list.
    messages: [...redact(messages)],
    tools: opening.tools.map((name) => ({ ...specs.get(name), name })),
    settings: redact(Object.fromEntries([...given, ...max_output])),
  }
}
