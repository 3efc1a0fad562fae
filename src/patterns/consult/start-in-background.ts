import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { PerformRequest } from '../../kernel/session-request.ts'
import { answerForm } from '../../requests/request-answer.ts'
import { prepareQuestion, recordQuestion, specialistKey } from './ask-specialist.ts'
import type { Consultation } from './consultation.ts'
import { specialistAgent } from './consultation.ts'
import type { ConsultOutput } from './output.ts'
import type { SpecialistChoice } from './routing/select-specialist.ts'
import { specialistAnswer } from './specialist-answer.ts'

/** Starts the specialists and returns at once. `consult_result` collects the answer, or the asker's end does. */
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
  const [first = '', ...others] = choice.agents
  const session_id = await startSession(consultation, choice, {
    ...{ agent: first, key: specialistKey(attempt) },
    collect_with: { tool: 'consult_result', input: { collaboration_id } },
  })
  // Without a collector of their own: the one of the first session gets all answers.
  for (const [index, agent] of others.entries())
    await startSession(consultation, choice, { agent, key: specialistKey(attempt, index + 1) })
  const output: ConsultOutput = {
    collaboration_id,
    status: 'in_progress',
    consulted_agent: choice.agents.join(', '),
    response: null,
    suggested_next_steps: [],
    note: context.caller.tools.includes('consult_result')
      ? 'Go on with your work; consult_result gets the answer.'
      : 'Go on with your work; the answer is delivered to you before you end.',
  }
  return { success: true, output, started: [session_id] }
}

async function startSession(
  consultation: Consultation,
  choice: SpecialistChoice,
  { agent, key, collect_with }: { agent: string; key: string } & Pick<PerformRequest, 'collect_with'>,
): Promise<string> {
  const { context, request } = consultation
  const asked = { choice, agent, key, exchange_number: 1 }
  const { question, request: prepared } = await prepareQuestion(consultation, asked)
  recordQuestion(consultation, question, request.question)
  const { prompt, answer: _answer, ...options } = prepared
  const opening = {
    ...options,
    ...answerForm(specialistAnswer, prompt, options),
    ...(collect_with && { collect_with }),
  }
  return context.startBackground(specialistAgent(consultation, agent), opening, { key })
}
