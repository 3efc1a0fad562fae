import { contentText } from '../../../views/content-text.ts'
import { errorSummary } from '../../../views/error-summary.ts'
import { formatCount, pluralize } from '../../../views/format-amount.ts'
import type { ProgressLine, SessionFacts, SessionLabel, SessionLookup, TextLine } from '../../../views/pattern-view.ts'
import { definePatternView } from '../../../views/pattern-view.ts'
import type { SessionFileMessage } from '../../../views/session-file/pattern-session-file.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TimelineMark } from '../../../views/timeline/timeline-mark.ts'
import type { ConsultEvent } from '../events.ts'
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
  progress: consultProgress,
  session: consultSession,
  timeline: (_views, event) => consultMarks(event),
  panels: consultationPanels,
  lines: ({ byId }, { width }) => [...byId.values()].flatMap((view) => consultationLines(view, width)),
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

function consultMarks(event: ConsultEvent): TimelineMark[] {
  switch (event.type) {
    case 'consult:exchange': {
      const { key, from_agent, to_agent, message_type, message_content } = event.data
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
    case 'consult:loop':
      return [{ kind: 'notice', notice: 'loop', text: event.data.notes ?? event.data.loop_type }]
    default:
      return []
  }
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

function consultProgress(
  { byId }: ConsultationViews,
  event: ConsultEvent,
  sessions: SessionLookup,
): ProgressLine | undefined {
  const view = byId.get(event.data.collaboration_id)
  const asker = view?.requesting_agent ?? ''
  const speaker = { agent: asker, depth: sessions.depth(event.data.key) }
  const line = (...spans: TextLine): ProgressLine => ({ speaker, spans })
  switch (event.type) {
    case 'consult:request':
      return line('asks  ', ['dim', toTerminalLine(event.data.question)])
    case 'consult:routed': {
      const { agent, agents = [agent], rationale } = event.data
      return line('→ ', ['bold', agents.map(toTerminalLine).join(', ')], ['dim', `  ${toTerminalLine(rationale)}`])
    }
    case 'consult:exchange':
      if (event.data.message_type !== 'clarification') return undefined
      return line(['yellow', `${toTerminalLine(event.data.from_agent)} asks back  `], clarificationText(event.data))
    case 'consult:escalated':
      return line(['yellow', 'a person is asked  '], toTerminalLine(event.data.root_cause))
    case 'consult:loop':
      return line(['yellow', 'loop detected  '], toTerminalLine(event.data.notes ?? event.data.loop_type))
    case 'consult:failed':
      return line(['red', 'consultation failed  '], errorSummary(event.data.error))
    case 'consult:timeout':
      return line(['yellow', `${toTerminalLine(event.data.agent)} missed the deadline`])
    case 'consult:resolved':
      return line(['green', 'answered  '], toTerminalLine(event.data.resolution_summary), ['dim', costText(view)])
    case 'consult:rated':
      return line(`rated ${event.data.success_rating} of 5`)
    default:
      return undefined
  }
}

function clarificationText({ message_content }: { message_content: Record<string, unknown> }): string {
  return toTerminalLine(String(message_content.clarification_needed ?? ''))
}

function costText(view: ConsultationView | undefined): string {
  if (!view) return ''
  const usd = view.cost_usd === null ? '' : ` · $${view.cost_usd.toFixed(4)}`
  return `  ${formatCount(view.tokens)} tokens${usd}`
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
      start: [`answers ${toTerminalLine(requesting_agent)}`],
      ...(reply === undefined ? undefined : { result: reply }),
    }
  }
  const hidden = { start: 'hidden', end: 'hidden' } as const
  if (!part.startsWith('route')) return { purpose: `writes the answer for ${requesting_agent}`, ...hidden }
  return { purpose: `chooses a specialist for ${requesting_agent}`, ...hidden, result: specialist_agent ?? 'nobody' }
}

/** One consultation: who asked whom, why, with which outcome and cost. */
function consultationLines(view: ConsultationView, width: number): TextLine[] {
  const { requesting_agent, specialist_agent, consultation_reason, status, exchanges, rating } = view
  const facts = [
    ...(consultation_reason === null ? [] : [consultation_reason]),
    status,
    ...(exchanges === 0 ? [] : [pluralize(exchanges, 'exchange')]),
    ...(rating === null ? [] : [`rated ${rating} of 5`]),
  ]
  const head = [`${requesting_agent} → ${specialist_agent ?? '?'}`, ...facts, costText(view).trim()].join(' · ')
  return [
    ...wrapText(`consult: ${toTerminalLine(head)}`, width, 2).map((text): TextLine => [['dim', text]]),
    ...wrapText(`  ${toTerminalLine(view.question)}`, width, 4).map((text): TextLine => [['dim', text]]),
    [['dim', `  collaboration_id ${toTerminalLine(view.collaboration_id)}`]],
  ]
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
