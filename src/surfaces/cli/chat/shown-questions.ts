import type { SteerAction } from '../../../index.ts'
import type { OpenQuestion } from '../../../patterns/team/chat-event.ts'
import { toTerminalLine } from '../../../views/text-width.ts'

/*
 * Decides which question a line answers. Confused deputy: a "yes" that the user meant for one question must never approve
 * another one, such as a shell command that was asked for while the user typed.
 * 1. A line answers only a question that was open when the user began to type and when the line was entered.
 * 2. When several questions are open, the line has to begin with the number of the question.
 * 3. The team's wait for a reply is the exception: a message that was typed for a running team is also a reply.
 */

/** The open questions at the two moments that matter for a line. */
export interface ShownQuestions {
  whenTyped: readonly OpenQuestion[]
  whenEntered: readonly OpenQuestion[]
}

export type LineTarget =
  | { kind: 'answer'; question: OpenQuestion; text: string }
  /** No question is open: the line is a message to the team. */
  | { kind: 'message' }
  /** The question the line was typed for is no longer open, or another one came up. */
  | { kind: 'stale' }
  /** Several questions are open, and the line names none of them. */
  | { kind: 'ambiguous'; questions: readonly OpenQuestion[] }

/** `open` are the questions that are open now, after catching up with other processes. */
export function findLineTarget(line: string, shown: ShownQuestions, open: readonly OpenQuestion[]): LineTarget {
  const { whenTyped, whenEntered } = shown
  if (whenEntered.length > 1) return findNumberedTarget(line, whenEntered, open)
  const [entered] = whenEntered
  if (entered) {
    const wasSeen = includesQuestion(whenTyped, entered) || entered.kind === 'reply'
    if (!wasSeen || !includesQuestion(open, entered)) return { kind: 'stale' }
    return findOnlyTarget(line, entered)
  }
  if (whenTyped.length > 0) return { kind: 'stale' }
  const [first] = open
  if (!first) return { kind: 'message' }
  return open.length === 1 && first.kind === 'reply'
    ? { kind: 'answer', question: first, text: line }
    : { kind: 'stale' }
}

const NUMBERED_LINE = /^(\d+)[.:)]?\s+(\S[\s\S]*)$/

/**
 * The last of several questions may still be answered by its number, and a number that it does not have was meant for
 * another one. A free text that begins with a number is the answer itself.
 */
function findOnlyTarget(line: string, question: OpenQuestion): LineTarget {
  const [, number, text = ''] = NUMBERED_LINE.exec(line) ?? []
  const hasChoices = question.kind === 'permission' || question.answers !== undefined
  if (number === undefined || question.answers?.includes(line.trim())) return { kind: 'answer', question, text: line }
  if (Number(number) === question.number && (hasChoices || question.number > 1))
    return { kind: 'answer', question, text }
  return hasChoices ? { kind: 'ambiguous', questions: [question] } : { kind: 'answer', question, text: line }
}

function findNumberedTarget(
  line: string,
  questions: readonly OpenQuestion[],
  open: readonly OpenQuestion[],
): LineTarget {
  const [, number, text = ''] = NUMBERED_LINE.exec(line) ?? []
  const question = questions.find((each) => each.number === Number(number))
  if (!question) return { kind: 'ambiguous', questions }
  return includesQuestion(open, question) ? { kind: 'answer', question, text } : { kind: 'stale' }
}

/** The questions that a steer action may answer; `stale` when the action was meant for one that is no longer open. */
export function answerableQuestions(
  action: SteerAction,
  { whenTyped, whenEntered }: ShownQuestions,
  open: readonly OpenQuestion[],
): readonly OpenQuestion[] | 'stale' {
  const meant = [...whenTyped, ...whenEntered].filter(
    ({ takes, path }) => takes?.includes(action.do) && path === action.path,
  )
  if (meant.some((question) => !includesQuestion(open, question))) return 'stale'
  return whenEntered.filter((question) => includesQuestion(whenTyped, question))
}

function includesQuestion(questions: readonly OpenQuestion[], { gate_id }: OpenQuestion): boolean {
  return questions.some((each) => each.gate_id === gate_id)
}

const QUESTION_LENGTH = 80

/** Lists the open questions with their numbers. */
export function openQuestionsNote(questions: readonly OpenQuestion[]): string {
  const list = questions.map(({ number, asked_by, as, call, question }) => {
    const asker = asked_by ?? as
    const text = toTerminalLine(call ?? question).trim()
    const short = text.length > QUESTION_LENGTH ? `${text.slice(0, QUESTION_LENGTH)}…` : text
    return `${number}: ${asker === undefined ? '' : `${asker}: `}${short}`
  })
  const example = questions[0]?.number ?? 1
  const count = questions.length === 1 ? '1 question is' : `${questions.length} questions are`
  return `${count} open; begin your answer with a number, such as "${example} yes". ${list.join(' | ')}`
}
