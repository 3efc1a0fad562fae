import { errorFromRecord } from '../../errors.ts'
import type { LoopJudgement } from '../../judgement/loop/consultation-loop.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'
import { askPerson } from './ask-person.ts'
import { requireUsableSession } from './configuration-error.ts'
import type { Consultation } from './consultation.ts'
import { deliverAnswer } from './deliver.ts'
import {
  formatMissingInformationRequest,
  MISSING_INFORMATION_SYSTEM,
  missingInformation,
  parseMissingInformation,
} from './loops/missing-information-prompt.ts'
import { recordLoop } from './loops/record-loop.ts'
import { orchestratorFor } from './orchestrator.ts'
import type { ConsultationAnswer } from './output.ts'
import { ANSWER_FORM } from './specialist-answer.ts'

const MAX_KNOWN_CHARACTERS = 4000

/**
 * The specialist who could answer waits for the asker (wait-for cycle): the orchestrator answers from what is known, or names the missing
 * information to the asker, who can ask for it in its own answer. If it can do neither, a person is asked.
 */
export async function answerInCycle(consultation: Consultation, cycle: LoopJudgement): Promise<PatternResult> {
  const { context, config, request } = consultation
  const { requesting_agent, question, context: given } = request
  const [finding] = cycle.findings
  const description = finding?.description ?? 'agents would wait for each other'
  const reply = await context.request({
    ...orchestratorFor(config, MISSING_INFORMATION_SYSTEM),
    key: 'cycle-answer',
    prompt: formatMissingInformationRequest({
      ...{ requesting_agent, question, ...given },
      cycle: description,
      waiting: finding?.evidence ?? [],
      known: instructionOfAsker(consultation),
    }),
    answer: missingInformation,
  })
  requireUsableSession(reply)
  // In an outage nothing was judged: resume asks the orchestrator again, rather than a person.
  if (reply.error && isResumableFailure(reply.error)) throw errorFromRecord(reply.error)
  const found = parseMissingInformation(reply.value)
  recordLoop(consultation, cycle, { key: 'cycle-loop', resolution: found ? 'resolved' : 'escalated' })
  if (!found) return askPerson(consultation, { reason: 'cycle', root_cause: description })
  const missing = found.missing_information
  const answer: ConsultationAnswer = {
    consulted_agent: 'orchestrator',
    response: {
      answer: found.answer ?? `Nobody who can be asked knows this. ${description}. Missing: ${missing.join(' ')}`,
    },
    suggested_next_steps:
      found.answer === undefined
        ? ['Ask for the missing information in your answer to the agent that waits for you.']
        : [],
    source: 'orchestrator',
  }
  return deliverAnswer(consultation, answer, {
    outcome_type: 'loop_detected',
    ...(missing.length === 0 ? undefined : { missing_information: missing }),
  })
}

/** The asker's own instruction: it has what the agents that wait for it know. */
function instructionOfAsker({ context: { caller } }: Consultation): { question: string; answer: string }[] {
  const first = caller?.messages.find(({ role }) => role === 'user')
  const text = first?.content.flatMap((part) => ('text' in part ? part.text : [])).join('\n') ?? ''
  if (text === '') return []
  const answer = text.replace(ANSWER_FORM, '').trim().slice(0, MAX_KNOWN_CHARACTERS)
  return [{ question: 'What was the asker told to do?', answer }]
}
