import type { ConsultationLimits, LoopJudgement } from '../../../judgement/loop/consultation-loop.ts'
import { judgeConsultation } from '../../../judgement/loop/consultation-loop.ts'
import type { Context } from '../../../kernel/context.ts'
import { compareQuestions } from './compare-questions.ts'
import type { LoopAdvice } from './loop-advice.ts'
import { loopAdvice } from './loop-advice.ts'
import type { LoopHistory } from './loop-history.ts'

/** The part of a request that the loop detector reads. */
export interface LoopRequest {
  collaboration_id: string
  requesting_agent: string
  question: string
}

export interface LoopCheckOptions {
  request: LoopRequest
  config: { limits: ConsultationLimits }
  history: LoopHistory
  key: string
}

export interface LoopCheck extends LoopJudgement, LoopAdvice {
  /** How questions were compared, and why not by meaning. */
  method: 'embedding' | 'lexical'
  note?: string
}

/**
 * Checks a request against the asker's recent consultations, after `consult:request` and before routing. `nudge` is answered with
 * `advice` and `earlier_answer` and without a specialist, `reroute` with a specialist other than those of `exclude`, `escalate` by a person.
 */
export async function checkForLoops(
  context: Context,
  { request, config, history, key }: LoopCheckOptions,
): Promise<LoopCheck> {
  const { requesting_agent, question } = request
  const { past, active } = history
  const own = past.filter((consultation) => consultation.requesting_agent === requesting_agent)
  const earlier = own.map((consultation) => consultation.question)
  const { matches, ...compared } =
    earlier.length === 0
      ? { matches: [], method: 'lexical' as const }
      : await compareQuestions(context, { question, earlier, key: `${key}/similar` })
  const judgement = judgeConsultation(
    {
      ...{ requesting_agent, history: past, active },
      matches: new Map(
        own.flatMap(({ collaboration_id: id }, index) => (matches[index] ? [[id, matches[index]]] : [])),
      ),
    },
    config.limits,
  )
  return { ...judgement, ...loopAdvice(judgement, past), ...compared }
}
