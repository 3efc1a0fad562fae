import { TroupeError } from '../../errors.ts'
import type { Row } from '../../kernel/table-query.ts'
import type * as z from '../../schema/zod.ts'
import type { ConsultConfig } from './consult-config.ts'
import type { Consultation } from './consultation.ts'
import type { ConsultContext, specialistSession } from './events.ts'
import type { ConsultationRequest, ConsultationStatus } from './request.ts'

/** A consultation that began in an earlier call, in this run or another, read from the tables. */
export interface EarlierConsultation extends Consultation {
  status: ConsultationStatus
  specialist_agent: string | null
  session_id: string | null
  /** The specialists that were asked last, with their sessions. */
  sessions: readonly z.output<typeof specialistSession>[]
  /** Messages so far, oldest first. */
  exchanges: readonly Row[]
  /** The number of the last exchange. */
  exchange_number: number
  success_rating: number | null
}

/** Reads a consultation of this project. Throws `invalid_input` for an unknown id. */
export async function readConsultation(
  config: ConsultConfig,
  context: ConsultContext,
  collaboration_id: string,
): Promise<EarlierConsultation> {
  const found = await context.query('stored', {
    table: 'agent_collaborations',
    where: { id: collaboration_id },
    limit: 1,
  })
  const [row] = found
  const request = row?.request as ConsultationRequest | undefined
  const asked = context.caller?.opening.agent.name
  const isForeign = asked !== undefined && asked !== request?.requesting_agent
  // The same error for both: it must not tell an agent which consultations of others exist.
  if (!row || !request || isForeign) throw await unknownConsultationError(context, collaboration_id)
  const exchanges = await context.query('stored-exchanges', {
    table: 'collaboration_exchanges',
    where: { collaboration_id },
    orderBy: { column: 'exchange_number' },
  })
  const [outcome] = await context.query('stored-outcome', {
    table: 'collaboration_outcomes',
    columns: ['resolution_summary', 'success_rating'],
    where: { collaboration_id },
  })
  const specialist_agent = row.specialist_agent as string | null
  const session_id = row.session_id as string | null
  const single = session_id === null || specialist_agent === null ? [] : [{ agent: specialist_agent, session_id }]
  return {
    ...{ config, context, request, specialist_agent, session_id },
    sessions: (row.sessions as EarlierConsultation['sessions'] | null) ?? single,
    reason: String(row.consultation_reason ?? ''),
    status: row.status as ConsultationStatus,
    exchanges,
    exchange_number: Math.max(0, ...exchanges.map((exchange) => Number(exchange.exchange_number))),
    history: exchanges.map(formatExchange),
    excluded: [],
    ...(outcome ? { resolution_summary: String(outcome.resolution_summary) } : undefined),
    success_rating: typeof outcome?.success_rating === 'number' ? outcome.success_rating : null,
  }
}

function formatExchange({ from_agent, to_agent, message_content }: Row): string {
  return `${from_agent} → ${to_agent}: ${exchangeText(message_content)}`
}

/** The words of a message. */
export function exchangeText(content: unknown): string {
  const { question, clarification_needed, answer } = content as Record<string, unknown>
  return String(question ?? clarification_needed ?? answer ?? '')
}

const MAX_KNOWN = 5

async function unknownConsultationError(context: ConsultContext, id: string): Promise<TroupeError> {
  const requesting_agent = context.caller?.opening.agent.name
  const known = await context.query('known', {
    table: 'agent_collaborations',
    ...(requesting_agent === undefined ? undefined : { where: { requesting_agent } }),
    orderBy: { column: 'created_at', direction: 'desc' },
    limit: MAX_KNOWN,
  })
  const alternatives = known.map((row) => String(row.id))
  const newest = alternatives.length === 0 ? 'there is none yet' : `the newest: ${alternatives.join(', ')}`
  return new TroupeError('invalid_input', `\`collaboration_id\` is unknown: '${id}'`, {
    alternatives,
    hint: `use the id of a consultation of this project (${newest}), or ask anew without it`,
  })
}
