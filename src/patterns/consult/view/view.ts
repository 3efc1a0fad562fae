import { contentText, errorSummary } from '../../../views/content-text.ts'
import { formatCount, formatUsd } from '../../../views/format-amount.ts'
import type { SessionFacts, SessionLabel } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import type { SessionFileMessage } from '../../../views/session-file/pattern-session-file.ts'
import type { TimelineMark } from '../../../views/timeline/timeline-mark.ts'
import type { ConsultEvent, ConsultEventOf } from '../events.ts'
import type { ConsultOutput } from '../output.ts'
import { consultOutput } from '../output.ts'
import type { ConsultationView, ConsultationViews } from './consultations.ts'
import { newConsultationViews, reduceConsultation, splitConsultKey } from './consultations.ts'
import { consultationPanels } from './consultations-panel.ts'

/** The view of consultations: who asks whom and why, what it costs, and what came of it. */
export const consultView = definePatternView<ConsultationViews, ConsultEvent>({
  initial: newConsultationViews,
  reduce(views, event) {
    reduceConsultation(views, event)
    return views
  },
  session: consultSession,
  timeline: consultMarks,
  panels: consultationPanels,
  json: ({ byId }) => (byId.size === 0 ? {} : { consultations: [...byId.values()] }),
  outputText(output) {
    // Results of older versions have more fields.
    const parsed = consultOutput.strip().safeParse(output)
    return parsed.success ? consultationText(parsed.data) : undefined
  },
  sessionFile: {
    collaboration: () => ({ pattern: 'master_worker' }),
    message: exchangeMessage,
  },
})

function consultMarks({ byId }: ConsultationViews, event: ConsultEvent): TimelineMark[] {
  const view = byId.get(event.data.collaboration_id)
  const asker = view?.requesting_agent ?? ''
  const progress = (text: string): TimelineMark[] => [{ kind: 'progress', text, share: null, agent: asker }]
  const note = (text: string): TimelineMark[] => [{ kind: 'notice', notice: 'note', text }]
  switch (event.type) {
    case 'consult:request':
      return progress(`asks: ${event.data.question}`)
    case 'consult:routed': {
      const { agent, agents = [agent], rationale } = event.data
      return progress(`→ ${agents.join(', ')}: ${rationale}`)
    }
    case 'consult:exchange':
      return exchangeMarks(event)
    case 'consult:escalated':
      return note(`A person is asked for ${asker}: ${event.data.root_cause}`)
    case 'consult:loop':
      return [{ kind: 'notice', notice: 'loop', text: event.data.notes ?? event.data.loop_type }]
    case 'consult:failed':
      return note(`Consultation of ${asker} failed: ${errorSummary(event.data.error)}`)
    case 'consult:timeout':
      return note(`${event.data.agent} missed the deadline`)
    case 'consult:resolved':
      return progress(`answered: ${event.data.resolution_summary}${costText(view)}`)
    case 'consult:rated':
      return progress(`rated ${event.data.success_rating} of 5`)
    default:
      return []
  }
}

function exchangeMarks({ data }: ConsultEventOf<'consult:exchange'>): TimelineMark[] {
  const { key, from_agent, to_agent, message_type, message_content } = data
  const agent = (name: string) => (name === 'user' ? null : name)
  const isQuestion = message_type === 'question'
  const specialist = key.replace(/-(?:question|response)$/, '')
  const ends = {
    from: agent(from_agent),
    to: agent(to_agent),
    ...(isQuestion ? { to_session: specialist } : { from_session: specialist }),
  }
  const text = contentText(message_content)
  const type = message_type === 'response' ? 'answer' : message_type
  return [
    { kind: 'consultation', ...ends, label: text },
    { kind: 'message', ...ends, type, text },
  ]
}

function costText(view: ConsultationView | undefined): string {
  if (!view) return ''
  const usd = view.cost_usd === null ? '' : `, ${formatUsd(view.cost_usd)}`
  return ` (${formatCount(view.tokens)} tokens${usd})`
}

/** Questions, answers and questions back are feedback between the asker and the specialist. */
function exchangeMessage(event: ConsultEvent): SessionFileMessage | undefined {
  if (event.type !== 'consult:exchange') return undefined
  const { collaboration_id, exchange_number, from_agent, to_agent, message_type, message_content } = event.data
  const identify = (name: string) => ({ agent_id: name, agent_type: name })
  return {
    from_agent: identify(from_agent),
    to_agent: identify(to_agent),
    message_type: 'feedback',
    content: { type: message_type, ...message_content },
    sequence_number: exchange_number,
    correlation_id: collaboration_id,
  }
}

/** The sessions of a consultation: the specialists, and the orchestrator's own calls. */
function consultSession(views: ConsultationViews, { key }: SessionFacts): SessionLabel | undefined {
  const { path, part } = splitConsultKey(key)
  const view = views.byId.get(views.byKey.get(path) ?? '')
  if (!view || part === '') return undefined
  const { requesting_agent, question, specialist_agent } = view
  if (part.startsWith('specialist')) {
    const reply = views.replies.get(key)
    return {
      purpose: `answers ${requesting_agent}: ${question}`,
      // Its question is a mark.
      marked: 'start',
      ...(reply === undefined ? undefined : { result: reply }),
    }
  }
  if (!part.startsWith('route')) return { purpose: `writes the answer for ${requesting_agent}`, marked: 'both' }
  const result = specialist_agent ?? 'nobody'
  return { purpose: `chooses a specialist for ${requesting_agent}`, marked: 'both', result }
}

/** The answer as text: what a person at the terminal wants to read. */
function consultationText(output: ConsultOutput): string {
  const { response, clarification_needed, suggested_next_steps, consulted_agent, note } = output
  const lines = [
    ...(response === null ? [] : [response.answer]),
    ...(response?.additional_context === undefined ? [] : ['', response.additional_context]),
    ...(response?.code_reference === undefined ? [] : ['', `Reference: ${response.code_reference}`]),
    ...(suggested_next_steps.length === 0 ? [] : ['', ...suggested_next_steps.map((step) => `- ${step}`)]),
    ...(clarification_needed === undefined ? [] : [`${consulted_agent} asks back: ${clarification_needed}`]),
    ...(note === undefined ? [] : ['', note]),
  ]
  return lines.join('\n').trim() || output.status
}
