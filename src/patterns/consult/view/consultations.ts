import { sumUsd } from '../../../kernel/spend.ts'
import { parentStepKey } from '../../../run-model/step-tree.ts'
import type { ConsultEvent, ConsultEventOf } from '../events.ts'
import type { ConsultationStatus } from '../request.ts'

/** One consultation as people see it. */
export interface ConsultationView {
  collaboration_id: string
  requesting_agent: string
  specialist_agent: string | null
  question: string
  consultation_reason: string | null
  /** `null` in a run that continues a consultation of an earlier one. */
  urgency: string | null
  status: ConsultationStatus
  exchanges: number
  answer: string | null
  /** `null` if the price of any call is unknown. */
  cost_usd: number | null
  tokens: number
  rating: number | null
}

/** By `collaboration_id`; and the consultation of each step that asks, and the reply of each specialist's session, by key. */
export interface ConsultationViews {
  byId: Map<string, ConsultationView>
  byKey: Map<string, string>
  replies: Map<string, string>
  /** The context that specialists were given, by `collaboration_id`. */
  packages: Map<string, ConsultEventOf<'consult:package'>['data'][]>
  loops: ConsultEventOf<'consult:loop'>[]
  /** Those whose specialist asked back, and waits for the asker. */
  askedBack: Set<string>
}

export function newConsultationViews(): ConsultationViews {
  return { byId: new Map(), byKey: new Map(), replies: new Map(), packages: new Map(), loops: [], askedBack: new Set() }
}

/** The key of the step that asks, and the part of it that this key is of. */
export function splitConsultKey(key: string): { path: string; part: string } {
  const [, path, part] = /^(?:(.*?)\/)?((?:specialist|route)\/.+|(?:cycle-answer|synthesis)[^/]*)$/.exec(key) ?? []
  return part === undefined ? { path: parentStepKey(key), part: '' } : { path: path ?? '', part }
}

export function reduceConsultation(views: ConsultationViews, event: ConsultEvent): void {
  const { type, data } = event
  const { collaboration_id } = data
  if (event.type === 'consult:loop') views.loops.push(event)
  if (event.type === 'consult:package')
    views.packages.set(collaboration_id, [...(views.packages.get(collaboration_id) ?? []), event.data])
  if (type === 'consult:request') {
    views.byId.set(collaboration_id, newView(data))
    views.byKey.set(parentStepKey(data.key), collaboration_id)
    return
  }
  if (type === 'consult:exchange') {
    if (!views.byId.has(collaboration_id)) views.byId.set(collaboration_id, continuedView(data))
    const { clarification_needed, answer } = data.message_content
    if (data.message_type === 'clarification') views.askedBack.add(collaboration_id)
    else views.askedBack.delete(collaboration_id)
    if (data.message_type !== 'question')
      views.replies.set(data.key.replace(/-response$/, ''), String(clarification_needed ?? answer ?? ''))
  }
  const view = views.byId.get(collaboration_id)
  if (!view) return
  views.byKey.set(splitConsultKey(data.key).path, collaboration_id)
  Object.assign(view, changes(view, { type, data } as ConsultEvent))
}

/** A consultation that began in an earlier run: its first message here says who asks whom. */
function continuedView(data: ConsultEventOf<'consult:exchange'>['data']): ConsultationView {
  const { collaboration_id, from_agent, to_agent, message_content } = data
  const question = String(message_content.question ?? '')
  const view = newView({ collaboration_id, requesting_agent: from_agent, question, urgency: null })
  return { ...view, specialist_agent: to_agent, status: 'in_progress' }
}

type Asked = Pick<ConsultationView, 'collaboration_id' | 'requesting_agent' | 'question' | 'urgency'>

function newView(data: Asked & { consultation_reason?: string | undefined }): ConsultationView {
  const { collaboration_id, requesting_agent, question, consultation_reason = null, urgency } = data
  return {
    ...{ collaboration_id, requesting_agent, question, consultation_reason, urgency },
    ...{ specialist_agent: null, status: 'pending', exchanges: 0, answer: null },
    ...{ cost_usd: 0, tokens: 0, rating: null },
  }
}

function changes(view: ConsultationView, { type, data }: ConsultEvent): Partial<ConsultationView> {
  switch (type) {
    case 'consult:routed': {
      const { agent, agents = [agent], consultation_reason, tokens, cost_usd } = data
      const spent = addCost(view, tokens, cost_usd)
      return { status: 'routed', specialist_agent: agents.join(', '), consultation_reason, ...spent }
    }
    case 'consult:exchange': {
      const { request = 0, routing = 0, response = 0, delivery = 0 } = data.tokens
      const tokens = request + routing + response + delivery
      const spent = tokens === 0 ? undefined : addCost(view, tokens, data.cost_usd)
      return { status: 'in_progress', exchanges: data.exchange_number, ...spent }
    }
    case 'consult:retried':
      return { status: 'in_progress' }
    case 'consult:response':
      return { status: 'responded', answer: data.response.answer, specialist_agent: data.consulted_agent }
    case 'consult:resolved':
      return { status: 'resolved' }
    case 'consult:escalated':
      return { status: 'escalated' }
    case 'consult:failed':
      return { status: 'failed' }
    case 'consult:timeout':
      return { status: 'timeout' }
    case 'consult:rated':
      return { rating: data.success_rating }
    default:
      return {}
  }
}

function addCost(view: ConsultationView, tokens: number, cost: number | null): Partial<ConsultationView> {
  const cost_usd = view.cost_usd === null || cost === null ? null : sumUsd(view.cost_usd, cost)
  return { tokens: view.tokens + tokens, cost_usd }
}
