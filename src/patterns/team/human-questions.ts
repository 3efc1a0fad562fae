import { toTroupeError } from '../../errors.ts'
import { checkAttachments } from '../../judgement/attachment/attached-file.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import { attachmentSchema } from '../../kernel/attachment-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Question } from '../../kernel/gate.ts'
import { formatIssues } from '../../schema/schema.ts'
import * as z from '../../schema/zod.ts'

/*
 * Human-in-the-loop questions of a team. `detail.takes` of a gate lists the steering actions it accepts as answers.
 */

/** A message of a person, with the files that it carries. */
export interface PersonMessage {
  text: string
  attachments?: readonly Attachment[]
}

export function toPersonMessage({
  text,
  attachments = [],
}: {
  text: string
  attachments?: readonly Attachment[] | undefined
}): PersonMessage {
  return attachments.length > 0 ? { text, attachments } : { text }
}

/** Asks a person until the answer is valid. */
export async function askUntilValid<T>(
  context: Context,
  key: string,
  { question, parse }: { question: Question; parse(answer: unknown): T | undefined },
): Promise<T> {
  let current = withPath(context, question)
  for (let attempt = 1; ; attempt++) {
    const answer = await context.ask(attempt === 1 ? key : `${key}/${attempt}`, current)
    const choice = parse(answer)
    if (choice !== undefined) return choice
    current = { ...current, question: `${JSON.stringify(answer)} is not a valid answer. ${question.question}` }
  }
}

/** Asks a person a question that any message answers; an empty answer is an empty message. */
export async function askHuman(context: Context, key: string, question: Question): Promise<PersonMessage> {
  const detail = { ...(question.detail as object), takes: ['say'] }
  return (await askForMessage(context, key, withPath(context, { ...question, detail }))) ?? { text: '' }
}

/** Asks for a message: `undefined` for an empty answer or `stop`. Asks again when a file of the answer cannot be attached. */
export async function askForMessage(
  context: Context,
  key: string,
  question: Question,
): Promise<PersonMessage | undefined> {
  let current = question
  for (let attempt = 1; ; attempt++) {
    const answer = await context.ask(attempt === 1 ? key : `${key}/${attempt}`, current)
    const message = parseAnswerMessage(answer)
    if (typeof message !== 'string') return message
    current = { ...question, question: `The answer was not delivered: ${message}. ${question.question}` }
  }
}

/** The message of an answer, `undefined` for an empty answer or `stop`, or the reason why its files cannot be attached. */
export function parseAnswerMessage(answer: unknown): PersonMessage | string | undefined {
  const text = answerText(answer)
  if (text === undefined) return undefined
  const attachments = parseAnswerAttachments(answer)
  return typeof attachments === 'string' ? attachments : toPersonMessage({ text, attachments })
}

/** The attachments of an answer, or the reason why they are invalid: programs answer gates without a check. */
function parseAnswerAttachments(answer: unknown): Attachment[] | string {
  const { do: action, attachments = [] } = (typeof answer === 'object' ? (answer ?? {}) : {}) as {
    do?: unknown
    attachments?: unknown
  }
  if (action !== 'say') return []
  const parsed = z.array(attachmentSchema).safeParse(attachments)
  if (!parsed.success) return formatIssues(parsed.error)
  try {
    checkAttachments(parsed.data)
    return parsed.data
  } catch (thrown) {
    return toTroupeError(thrown).message
  }
}

/** Names the sub-team that asks: steering answers its question only with the same `path`. */
function withPath({ parentName }: Context, question: Question): Question {
  if (parentName === undefined) return question
  return { ...question, detail: { ...(question.detail as object), path: parentName } }
}

/** The text of an answer, or `undefined` for an empty answer or `stop`. */
function answerText(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return undefined
  const { do: action, text } = (typeof answer === 'object' ? answer : {}) as { do?: unknown; text?: unknown }
  if (action === 'stop') return undefined
  const content = action === 'say' && typeof text === 'string' ? text : answer
  const plainText = typeof content === 'string' ? content : JSON.stringify(content)
  return plainText.trim() === '' ? undefined : plainText
}

/** A human choice: a keyword, the name of a member, or a steering action. */
export type HumanChoice = { do: 'continue' | 'step' | 'stop' } | { do: 'override'; agent: string }

const CHOICE_WORDS: Readonly<Record<string, HumanChoice>> = {
  ...{ continue: { do: 'continue' }, yes: { do: 'continue' }, y: { do: 'continue' }, approve: { do: 'continue' } },
  ...{ step: { do: 'step' } },
  ...{ stop: { do: 'stop' }, no: { do: 'stop' }, n: { do: 'stop' }, reject: { do: 'stop' } },
}

export function parseHumanChoice(answer: unknown, names: readonly string[]): HumanChoice | undefined {
  if (answer === true || answer === false) return { do: answer ? 'continue' : 'stop' }
  if (typeof answer === 'object' && answer !== null) {
    const { do: action, agent } = answer as { do?: unknown; agent?: unknown }
    if (action === 'override')
      return typeof agent === 'string' && names.includes(agent) ? { do: action, agent } : undefined
    return typeof action === 'string' && Object.hasOwn(CHOICE_WORDS, action) ? CHOICE_WORDS[action] : undefined
  }
  if (typeof answer !== 'string') return undefined
  const text = answer.trim()
  const name = text.replace(/^override\s+/i, '')
  if (names.includes(name)) return { do: 'override', agent: name }
  const word = text.toLowerCase()
  return Object.hasOwn(CHOICE_WORDS, word) ? CHOICE_WORDS[word] : undefined
}
