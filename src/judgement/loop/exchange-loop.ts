import type { LoopJudgement } from './consultation-loop.ts'
import { MAX_EVIDENCE_CHARACTERS } from './consultation-loop.ts'
import { sharedWords, wordSet } from './same-subject.ts'

/** One message within a consultation. */
export interface ConsultationExchange {
  from_agent: string
  to_agent: string
  message_type: 'question' | 'response' | 'clarification'
  text: string
}

const SAME_MESSAGE = 0.8

/** Judges the messages between an asker and a specialist, the latest of which asks: the specialist asks back, or the asker asks once more. */
export function judgeExchanges(
  collaboration_id: string,
  exchanges: readonly ConsultationExchange[],
  { max_exchanges_per_collaboration: max }: { max_exchanges_per_collaboration: number },
): LoopJudgement {
  const latest = exchanges.at(-1)
  if (!latest || latest.message_type === 'response') return { status: 'HEALTHY', findings: [], action: 'continue' }
  const isAskedBack = latest.message_type === 'clarification'
  const specialist = isAskedBack ? latest.from_agent : latest.to_agent
  const replies = exchanges.filter(({ from_agent }) => from_agent === specialist)
  const evidence = replies.map(({ from_agent, to_agent, text }) => ({
    collaboration_id,
    requesting_agent: to_agent,
    specialist_agent: from_agent,
    question: text.slice(0, MAX_EVIDENCE_CHARACTERS),
  }))
  // Earlier questions, answered or not: an asker cannot go on for ever with a specialist that never replies, either.
  const rounds = isAskedBack ? replies.length : exchanges.filter(({ to_agent }) => to_agent === specialist).length - 1
  if (rounds >= max) {
    const times = isAskedBack
      ? `${specialist} replied ${rounds} times and still asks back`
      : `${specialist} was asked ${rounds} times and ${latest.from_agent} asks once more`
    const description = `${times}; \`max_exchanges_per_collaboration\` is ${max}`
    const finding = { type: 'iteration_limit' as const, description, evidence }
    return { status: 'ITERATION_LIMIT', findings: [finding], action: 'escalate' }
  }
  const words = wordSet(latest.text)
  const isRepeated =
    isAskedBack && replies.slice(0, -1).some(({ text }) => sharedWords(words, wordSet(text)) >= SAME_MESSAGE)
  if (isRepeated) {
    const description = `${latest.from_agent} asks back the same again although it got a reply`
    const finding = { type: 'identical_questions' as const, description, evidence }
    return { status: 'IDENTICAL_LOOP', findings: [finding], action: 'reroute' }
  }
  return { status: replies.length > 1 ? 'MAKING_PROGRESS' : 'HEALTHY', findings: [], action: 'continue' }
}
