import { isOutsideFailure } from './outside-failure.ts'
import type { ParsedText } from './same-subject.ts'
import { namesDiffer, parseText, subjectWords } from './same-subject.ts'
import { mayShare, sharedWords, wordSet } from './shared-words.ts'
import type { LoopFinding, TraceMessage } from './trace.ts'

const SAME_STEP = 0.8
const MIN_WORDS = 5
/** Words of a message in which a single other word may make it another step. */
const SHORT_STEP = 30
/** Of messages of at most so many words, one that is similar but says a new word may be a revision; two are a repetition. */
const SHORT_REVISION = 25
const MIN_REVISIONS = 2
/** Feedback that shares as many words was given before. */
const SIMILAR_FEEDBACK = 0.4
/** Messages of a speaker that a new one is compared with. */
const MESSAGES_KEPT = 300

/** Positions of the same message that are kept as evidence. */
const POSITIONS_KEPT = 50

interface Step extends ParsedText {
  text: string
  /** Where it was said, word for word. */
  positions: number[]
  to: string | undefined
  /** Words of the message of another right before it. */
  before: ReadonlySet<string>
  /** Words of the messages of others right before and after it. */
  around: ReadonlySet<string>
}

/**
 * Steps that a speaker repeats: at least 80 % of the words of one of its earlier messages. Messages of a few words are not steps, a
 * person's message starts over, and a step that a failure of the outside world answered may be repeated.
 */
export function findRepeatedSteps(messages: readonly TraceMessage[]): LoopFinding[] {
  const bySpeaker = new Map<string, Step[]>()
  return messages.flatMap((message, at) => {
    const { agent, kind, text } = message
    if (kind === 'person') bySpeaker.clear()
    if ((kind !== 'message' && kind !== 'plan') || isOutsideFailure(text)) return []
    const step = toStep(messages, at)
    if (step.words.size < MIN_WORDS) return []
    const steps = bySpeaker.get(agent) ?? []
    bySpeaker.set(agent, steps)
    const repeated = steps.filter((other) => isRepetition(step, other))
    const evidence = repeated.flatMap(({ positions }) => positions).toSorted((a, b) => a - b)
    const next = messages[at + 1]
    if (!next || next.agent === agent || !isOutsideFailure(next.text)) keepStep(steps, step)
    const mayBeRevision =
      step.words.size <= SHORT_REVISION && repeated.every((other) => subjectWords(step, other).length > 0)
    if (evidence.length < (mayBeRevision ? MIN_REVISIONS : 1)) return []
    const count = evidence.length === 1 ? 'an earlier step' : `${evidence.length} earlier steps`
    return [{ kind: 'repeated_step' as const, at, evidence, agent, message: `${agent} repeats ${count}` }]
  })
}

function toStep(messages: readonly TraceMessage[], at: number): Step {
  const { agent = '', to, text = '' } = messages[at] ?? {}
  const before = otherWords(messages[at - 1], agent)
  const around = new Set([...before, ...otherWords(messages[at + 1], agent)])
  return { ...parseText(text), text, positions: [at], to, before, around }
}

/** A message that was said word for word before takes the place of the earlier one. */
function keepStep(steps: Step[], step: Step): void {
  const index = steps.findIndex((other) => other.text === step.text && other.to === step.to)
  const [same] = index === -1 ? [] : steps.splice(index, 1)
  steps.push({ ...step, positions: [...(same?.positions ?? []), ...step.positions].slice(-POSITIONS_KEPT) })
  if (steps.length > MESSAGES_KEPT) steps.shift()
}

function otherWords(message: TraceMessage | undefined, agent: string): ReadonlySet<string> {
  return wordSet(message === undefined || message.agent === agent ? '' : message.text)
}

function isRepetition(step: Step, earlier: Step): boolean {
  if (step.to !== earlier.to || !mayShare(step.words.size, earlier.words.size, SAME_STEP)) return false
  if (sharedWords(step.words, earlier.words) < SAME_STEP) return false
  if (answersFeedback(step, earlier)) return false
  if (step.words.size > SHORT_STEP) return true
  return !namesDiffer(step, earlier) && !(isTakenUp(step, earlier) && isTakenUp(earlier, step))
}

/** Whether a step says something new after a message unlike the one before the earlier step: a revision after feedback. */
function answersFeedback(step: Step, earlier: Step): boolean {
  if (step.before.size === 0 || sharedWords(step.before, earlier.before) >= SIMILAR_FEEDBACK) return false
  return subjectWords(step, earlier).length > 0
}

/** Whether the messages around a step have a word of it that the other step does not have: then this word is its subject. */
function isTakenUp(step: Step, other: Step): boolean {
  return subjectWords(step, other).some((word) => step.around.has(word) && !other.around.has(word))
}
