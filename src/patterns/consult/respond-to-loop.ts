import type { PatternResult } from '../../kernel/pattern.ts'
import { askPerson } from './ask-person.ts'
import type { Consultation } from './consultation.ts'
import { deliverAnswer } from './deliver.ts'
import type { LoopCheck } from './loops/check-for-loops.ts'
import { checkForLoops } from './loops/check-for-loops.ts'
import type { LoopHistory } from './loops/loop-history.ts'
import { recordLoop } from './loops/record-loop.ts'

/**
 * Checks a new request against the asker's recent consultations. The graded response: `undefined` to go on (perhaps without specialists that
 * were asked before), advice with the earlier answer, or a person.
 */
export async function respondToLoop(
  consultation: Consultation,
  history: LoopHistory,
): Promise<PatternResult | undefined> {
  const { context, config, request } = consultation
  const check = await checkForLoops(context, { request, config, history, key: 'loops' })
  recordLoop(consultation, check, { key: 'loop', resolution: check.resolution })
  if (check.action === 'continue') return undefined
  const root_cause = check.findings.map(({ description }) => description).join('; ')
  if (check.action === 'escalate') return askPerson(consultation, { reason: 'loop', root_cause, ...positionsOf(check) })
  if (check.action === 'nudge') return advise(consultation, check)
  consultation.excluded.push(...check.exclude)
  return undefined
}

function positionsOf({ earlier_answer }: LoopCheck) {
  if (!earlier_answer) return {}
  const { specialist_agent, answer } = earlier_answer
  return { positions: [{ agent: specialist_agent ?? 'earlier answer', answer }] }
}

/** Answers without a specialist: with the earlier answer, if there is one, and what to do instead of asking again. */
function advise(consultation: Consultation, { earlier_answer, advice = '' }: LoopCheck): Promise<PatternResult> {
  return deliverAnswer(
    consultation,
    {
      consulted_agent: earlier_answer?.specialist_agent ?? 'orchestrator',
      response: { answer: earlier_answer?.answer ?? advice },
      suggested_next_steps: [],
      source: earlier_answer ? 'knowledge' : 'orchestrator',
    },
    { outcome_type: 'loop_detected', note: advice },
  )
}
