import { sharedWords, wordSet } from './shared-words.ts'
import type { LoopFinding, TraceMessage } from './trace.ts'

const SAME_STEP = 0.8
const MIN_WORDS = 5
/** Messages of a speaker that a new one is compared with. */
const MESSAGES_KEPT = 300

/** Steps that a speaker repeats: at least 80 % of the words of one of its earlier messages. Short messages are not steps, and a person's message starts over. */
export function findRepeatedSteps(messages: readonly TraceMessage[]): LoopFinding[] {
  const bySpeaker = new Map<string, { at: number; words: ReadonlySet<string> }[]>()
  return messages.flatMap(({ agent, kind, text }, at) => {
    if (kind === 'person') bySpeaker.clear()
    if (kind !== 'message' && kind !== 'plan') return []
    const words = wordSet(text)
    if (words.size < MIN_WORDS) return []
    const earlier = bySpeaker.get(agent) ?? []
    const evidence = earlier.filter((step) => sharedWords(words, step.words) >= SAME_STEP).map((step) => step.at)
    bySpeaker.set(agent, [...earlier, { at, words }].slice(-MESSAGES_KEPT))
    if (evidence.length === 0) return []
    const message = `${agent} repeats ${evidence.length === 1 ? 'an earlier step' : `${evidence.length} earlier steps`}`
    return [{ kind: 'repeated_step' as const, at, evidence, agent, message }]
  })
}
