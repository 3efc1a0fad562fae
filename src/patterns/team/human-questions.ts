import type { Context } from '../../kernel/context.ts'
import type { Question } from '../../kernel/gate.ts'

/*
 * Questions to people. A gate that takes steering actions as answers says so in `detail.takes`.
 */

/** Asks until the answer is one that can be read. */
export async function askUntilValid<T>(
  context: Context,
  key: string,
  { question, read }: { question: Question; read(answer: unknown): T | undefined },
): Promise<T> {
  let asked = withoutSteeringInSubTeam(context, question)
  for (let times = 1; ; times++) {
    const answer = await context.ask(times === 1 ? key : `${key}/${times}`, asked)
    const choice = read(answer)
    if (choice !== undefined) return choice
    asked = { ...asked, question: `${JSON.stringify(answer)} is no answer here. ${question.question}` }
  }
}

/** What a person says, in words. */
export async function askHuman(context: Context, key: string, question: Question): Promise<string> {
  const detail = { ...(question.detail as object), takes: ['say'] }
  return answerText(await context.ask(key, withoutSteeringInSubTeam(context, { ...question, detail }))) ?? ''
}

/** People steer the team at the top: what they ask of it must not become the answer to a question from within. */
function withoutSteeringInSubTeam({ parentName }: Context, question: Question): Question {
  if (parentName === undefined) return question
  const { takes: _takes, ...detail } = question.detail as { takes?: unknown }
  return { ...question, detail }
}

/** The words of an answer; nothing for one who has nothing more to say. */
export function answerText(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return undefined
  const { do: action, text } = (typeof answer === 'object' ? answer : {}) as { do?: unknown; text?: unknown }
  if (action === 'stop') return undefined
  const words = action === 'say' && typeof text === 'string' ? text : answer
  const said = typeof words === 'string' ? words : JSON.stringify(words)
  return said.trim() === '' ? undefined : said
}

/** A choice between going on and going elsewhere: a word, a name, or a steering action. */
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
  const said = answer.trim()
  const named = said.replace(/^override\s+/i, '')
  if (names.includes(named)) return { do: 'override', agent: named }
  const word = said.toLowerCase()
  return Object.hasOwn(CHOICE_WORDS, word) ? CHOICE_WORDS[word] : undefined
}
