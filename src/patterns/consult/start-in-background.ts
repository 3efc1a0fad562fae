import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { prepareQuestion, recordQuestion } from './ask-specialist.ts'
import type { Consultation } from './consultation.ts'
import { specialistAgent } from './consultation.ts'
import type { ConsultOutput } from './output.ts'
import type { SpecialistChoice } from './routing/select-specialist.ts'

/** Starts the specialist and returns at once. `consult_result` collects the answer, or the asker's end does. */
export async function startInBackground(
  consultation: Consultation,
  choice: SpecialistChoice,
  attempt: number,
): Promise<PatternResult> {
  const { context, request } = consultation
  if (!context.caller) {
    throw new TroupeError('invalid_input', '`background` cannot be used for the consultation of a run', {
      hint: 'remove `background`, and start the run without waiting for it',
    })
  }
  const { collaboration_id } = request
  const { agent } = choice
  const key = `specialist/${attempt}`
  const { question, request: prepared } = await prepareQuestion(consultation, {
    choice,
    agent,
    key,
    exchange_number: 1,
  })
  recordQuestion(consultation, question, request.question)
  const session_id = await context.startBackground(
    specialistAgent(consultation, agent),
    { ...prepared, collect_with: { tool: 'consult_result', input: { collaboration_id } } },
    { key: question.key },
  )
  const output: ConsultOutput = {
    collaboration_id,
    status: 'in_progress',
    consulted_agent: agent,
    response: null,
    suggested_next_steps: [],
    note: 'Go on with your work; consult_result gets the answer.',
  }
  return { success: true, output, started: [session_id] }
}
