import type { Event } from '../kernel/event.ts'
import { textFrom } from '../kernel/model.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import { formatSteerAction } from './steer-text.ts'

/** One thing that an agent was told, said, called or got back, in full. */
export interface TranscriptEntry {
  seq: number
  at: number
  agent: string
  session_id: string
  kind: 'instruction' | 'response' | 'call' | 'result' | 'error' | 'question' | 'answer'
  /** The tool of a call, its result or its error. */
  tool?: string
  text: string
  /** Characters of a tool result that were left out before the agent saw it; the journal does not have them. */
  truncated?: number
}

/** The conversations of a run in order, whole. Reasoning and internal requests are left out. */
export function transcriptFrom(events: readonly Event[]): TranscriptEntry[] {
  const agents = new Map<string, string>()
  return events.flatMap((event) => {
    const session_id = event.session_id ?? ''
    if (event.type === 'session:open') agents.set(session_id, event.data.agent.name)
    const entry = entryFrom(event)
    if (!entry || entry.text.trim() === '') return []
    return { seq: event.seq, at: event.at, agent: agents.get(session_id) ?? '', session_id, ...entry }
  })
}

function entryFrom(event: Event): Pick<TranscriptEntry, 'kind' | 'tool' | 'text' | 'truncated'> | undefined {
  switch (event.type) {
    case 'session:input':
      return { kind: 'instruction', text: textFrom(event.data.message) }
    case 'model:end':
      return event.data.phase ? undefined : { kind: 'response', text: textFrom(event.data.message) }
    case 'performer:message':
      return { kind: 'response', text: textFrom(event.data.message) }
    case 'model:error':
      return { kind: 'error', text: event.data.error.message }
    case 'limit:hit':
      return { kind: 'error', text: event.data.error.message }
    case 'tool:pre':
      return { kind: 'call', tool: event.data.tool, text: formatValue(event.data.input) }
    case 'tool:post': {
      const { tool, output, truncated } = event.data
      return { kind: 'result', tool, text: formatResult(output), ...(truncated ? { truncated } : undefined) }
    }
    case 'tool:error': {
      const { tool, error, output } = event.data
      const text = output === undefined || output === null ? error : `${error}\n${formatValue(output)}`
      return { kind: 'error', tool, text }
    }
    case 'gate:open':
      return { kind: 'question', text: event.data.question }
    case 'gate:answer':
      return { kind: 'answer', text: formatAnswer(event.data.answer) }
    default:
      return undefined
  }
}

/** The response of a delegation; its usage and ids are in the tree. */
function formatResult(output: unknown): string {
  const { response } = (typeof output === 'object' && output !== null ? output : {}) as { response?: unknown }
  return formatValue(typeof response === 'string' ? response : output)
}

/** Text as it is; everything else as JSON. */
function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

function formatAnswer(answer: unknown): string {
  const isSteering = typeof answer === 'object' && answer !== null && 'do' in answer
  return isSteering ? formatSteerAction(answer as SteerAction) : formatValue(answer)
}
