import type {
  LoopEvidence,
  LoopJudgement,
  LoopStatus,
  PastConsultation,
} from '../../../judgement/loop/consultation-loop.ts'

/** What the orchestrator does about a loop. */
export interface LoopAdvice {
  /** Tells the asker what to do differently. */
  advice?: string
  /** The latest answer to this question. */
  earlier_answer?: { collaboration_id: string; specialist_agent: string | null; answer: string }
  /** Specialists that were asked already. */
  exclude: string[]
  /** `resolution` of the event `consult:loop`. */
  resolution: 'escalated' | 'resolved' | 'continued'
}

/** `history` has the answers in full; those of the evidence are shortened. */
export function loopAdvice(
  { status, findings, action }: LoopJudgement,
  history: readonly PastConsultation[],
): LoopAdvice {
  const evidence = findings.flatMap((finding) => finding.evidence)
  const exclude = [...new Set(evidence.flatMap(({ specialist_agent }) => specialist_agent ?? []))]
  if (action === 'continue') return { exclude: [], resolution: 'continued' }
  const earlier_answer = latestAnswer(evidence, history)
  return {
    exclude,
    resolution: action === 'escalate' ? 'escalated' : 'continued',
    ...(action === 'nudge' && { advice: nudge(status, evidence) }),
    ...(earlier_answer && { earlier_answer }),
  }
}

function latestAnswer(
  evidence: readonly LoopEvidence[],
  history: readonly PastConsultation[],
): LoopAdvice['earlier_answer'] {
  const ids = new Set(evidence.map(({ collaboration_id }) => collaboration_id))
  const latest = history.findLast(({ collaboration_id, answer }) => answer !== undefined && ids.has(collaboration_id))
  if (latest?.answer === undefined) return undefined
  const { collaboration_id, specialist_agent, answer } = latest
  return { collaboration_id, specialist_agent, answer }
}

function nudge(status: LoopStatus, evidence: readonly LoopEvidence[]): string {
  const ids = evidence.map(({ collaboration_id }) => collaboration_id).join(', ')
  switch (status) {
    case 'IDENTICAL_LOOP':
      return evidence.some(({ answer }) => answer !== undefined)
        ? 'You asked this before; the answer is below. Do not ask it again. Act on it, or ask only for what is missing: name what you tried and where it failed.'
        : `You asked this before and it is not answered yet (${ids}). Do not ask it again: collect the result, or go on with other work.`
    case 'ALTERNATION':
      return 'You and the specialist ask each other in turn without anything new. Decide with what you both know, and say which assumption you made; or ask for one missing fact.'
    default:
      return 'The last answers brought nothing new. Do not ask again in other words. Act on what you know, or name the one fact that is missing and what you need it for.'
  }
}
