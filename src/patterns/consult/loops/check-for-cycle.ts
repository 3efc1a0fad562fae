import type { LoopEvidence, LoopJudgement } from '../../../judgement/loop/consultation-loop.ts'
import type { WaitForEdge } from '../../../judgement/loop/wait-for-cycle.ts'
import { findWaitForCycle } from '../../../judgement/loop/wait-for-cycle.ts'
import type { Context } from '../../../kernel/context.ts'
import type { LoopRequest } from './check-for-loops.ts'
import { compareQuestions } from './compare-questions.ts'
import { readWaitingConsultations } from './loop-history.ts'

export interface CycleCheckOptions {
  request: LoopRequest
  /** The specialist that the question would go to. */
  agent: string
  key: string
}

/**
 * Checks, after routing, whether the specialist waits for the asker already: up the chain of calls, through delegation and teams as well,
 * or in another session of this run with the same question. Background consultations count. `CIRCULAR_LOOP` with the action
 * `answer_by_orchestrator`, or else `HEALTHY`.
 */
export async function checkForCycle(
  context: Context,
  { request, agent, key }: CycleCheckOptions,
): Promise<LoopJudgement> {
  const { requesting_agent, question } = request
  // The asker's own consultations cannot be part of the way back to it.
  const active = await readWaitingConsultations(context, { agent: requesting_agent, key: `${key}/active` })
  const others = active.filter((consultation) => consultation.specialist_agent !== null)
  const compared =
    others.length === 0
      ? []
      : (
          await compareQuestions(context, {
            question,
            earlier: others.map((other) => other.question),
            key: `${key}/similar`,
          })
        ).matches
  const sameQuestion = others.flatMap(
    ({ requesting_agent: from, specialist_agent: to, collaboration_id: id }, index) =>
      to !== null && compared[index]?.same ? [{ from, to, id }] : [],
  )
  const cycle = findWaitForCycle([...chainEdges(context), ...sameQuestion], { from: requesting_agent, to: agent })
  if (!cycle) return { status: 'HEALTHY', findings: [], action: 'continue' }
  const names = [requesting_agent, agent, ...cycle.map(({ to }) => to)]
  const evidence = active.filter((consultation) =>
    cycle.some(
      ({ id, from, to }) =>
        id === consultation.collaboration_id ||
        (id === undefined && from === consultation.requesting_agent && to === consultation.specialist_agent),
    ),
  )
  const finding = {
    type: 'circular_dependency' as const,
    description: `agents would wait for each other: ${names.join(' → ')}`,
    evidence: evidence.map(
      (past): LoopEvidence => ({
        collaboration_id: past.collaboration_id,
        requesting_agent: past.requesting_agent,
        specialist_agent: past.specialist_agent,
        question: past.question.slice(0, MAX_EVIDENCE_CHARACTERS),
      }),
    ),
  }
  return { status: 'CIRCULAR_LOOP', findings: [finding], action: 'answer_by_orchestrator' }
}

const MAX_EVIDENCE_CHARACTERS = 500

/** Each session up the chain waits for the one that it called. */
function chainEdges({ caller }: Pick<Context, 'caller'>): WaitForEdge[] {
  if (!caller) return []
  const chain = [...caller.opening.path, caller.opening.agent.name]
  return chain.slice(1).map((to, index) => ({ from: chain[index] ?? '', to }))
}
