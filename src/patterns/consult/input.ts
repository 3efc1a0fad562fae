import { TroupeError } from '../../errors.ts'
import type { Roster } from '../../kernel/roster.ts'
import { setBy } from '../../schema/input-forms.ts'
import type { Schema } from '../../schema/standard-schema.ts'
import * as z from '../../schema/zod.ts'
import { requestContext, urgencies } from './request.ts'

/** The reasons that have a scenario; any other text is a reason, too. */
export const consultationReasons = [
  ...(['model_data', 'security_review', 'api_clarification'] as const),
  ...(['bug_debugging', 'requirements', 'infrastructure'] as const),
] as const

/** Characters of a question, and of the whole request: code belongs into the context, which is cut to a budget. */
const MAX_QUESTION_CHARS = 20_000
const MAX_REQUEST_CHARS = 500_000

const texts = z.array(z.string()).optional()
const urgency = z.enum(urgencies)

const fields = {
  question: setBy(z.string().describe('One question. With collaboration_id: your reply or a follow-up.'), {
    model: true,
  }),
  consultation_reason: z
    .string()
    .max(100)
    .optional()
    .describe(`${consultationReasons.join(', ')}, or your own words.`),
  // Code and errors in the asker's conversation get into the context package without its naming them.
  context: setBy(requestContext.default({}), {
    model: z
      .strictObject({
        current_task: z.string().optional(),
        specific_concern: z.string().optional(),
        attempted_approaches: texts,
        relevant_files: texts,
      })
      .optional(),
  }),
  suggested_agent: setBy(z.string().optional().describe('A hint; the orchestrator chooses.'), { model: true }),
  urgency: setBy(urgency.default('normal').describe('Orders the queue and sets the deadline.'), {
    model: urgency.optional(),
  }),
}
const collaboration_id = setBy(z.string().optional().describe('Continue this consultation.'), { model: true })

/** The input of the tool: the asker is the agent that calls it. */
export const consultToolInput = z.strictObject({
  ...fields,
  background: setBy(z.boolean().optional().describe('Go on working; consult_result gets the answer.'), {
    model: true,
  }),
  collaboration_id,
})

/** The input of a run. */
export const consultInput = z.strictObject({
  ...fields,
  collaboration_id,
  as: z.string().optional().describe('The agent that asks. Default: you, the user.'),
})

export type ConsultInput = z.output<typeof consultInput>
export type ConsultToolInput = z.output<typeof consultToolInput>

/** Throws for a request that cannot be routed, before anything is paid. */
export function checkConsultInput(roster: Roster, input: ConsultInput | ConsultToolInput): void {
  const { question, context, suggested_agent } = input
  if (question.trim() === '') {
    throw new TroupeError('invalid_input', '`question` is empty', { hint: 'ask one question, with the facts it needs' })
  }
  if (question.length > MAX_QUESTION_CHARS) {
    throw tooLargeError('`question`', question.length, MAX_QUESTION_CHARS)
  }
  const size = JSON.stringify(context).length
  if (size > MAX_REQUEST_CHARS) throw tooLargeError('`context`', size, MAX_REQUEST_CHARS)
  if (suggested_agent !== undefined) roster.get(suggested_agent)
  if ('as' in input && input.as !== undefined) roster.get(input.as)
}

const formatNumber = (value: number) => value.toLocaleString('en-US')

function tooLargeError(field: string, chars: number, max: number): TroupeError {
  return new TroupeError(
    'too_large',
    `${field} has ${formatNumber(chars)} characters; the maximum is ${formatNumber(max)}`,
    {
      hint: 'ask a short question, and name files in `context.relevant_files` instead of pasting them',
    },
  )
}

export const consultResultInput = z.strictObject({
  collaboration_id: z.string(),
  wait: z.boolean().default(true).describe('Wait for the answer. If false, status may be in_progress.'),
})
export type ConsultResultInput = z.output<typeof consultResultInput>

/** The input that models see; `wait` is accepted, too. */
export const advertisedResultInput: Schema = consultResultInput.omit({ wait: true })

export const rateConsultationInput = z.strictObject({
  collaboration_id: z.string(),
  rating: z.int().min(1).max(5).describe('1: useless, 5: solved it.'),
  lessons_learned: z.string().trim().min(1).max(2000).optional().describe('What helps with such a question next time.'),
})
export type RateConsultationInput = z.output<typeof rateConsultationInput>

export const rateConsultationOutput = z.strictObject({
  collaboration_id: z.string(),
  success_rating: z.int(),
  /** The rating that this one replaces. */
  replaced: z.int().optional(),
})
