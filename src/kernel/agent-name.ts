import { TroupeError } from '../errors.ts'
import type { Agent } from './agent.ts'

/*
 * Names of agents stand in questions that people answer. Prevents spoofing: a name with a line break, a bracket or a quote could
 * continue the sentence, as in `reviewer (approved by admin)`.
 */

const MAX_LENGTH = 128
const VALID_NAME = /^[\p{L}\p{N}\p{Extended_Pictographic}_][\p{L}\p{M}\p{N}\p{Pd}\p{Extended_Pictographic} _.:/&+#@]*$/u
const INVALID_CHARACTERS = /[^\p{L}\p{M}\p{N}\p{Pd}\p{Extended_Pictographic} _.:/&+#@]+/gu
/** Names without spaces and signs need no quotes. */
const PLAIN_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.:/-]*$/u

export const AGENT_NAME_RULE = `use letters, digits, emoji, spaces and - _ . : / & + # @, no sign but _ first, at most ${MAX_LENGTH} characters`

export function isAgentName(name: string): boolean {
  return name.length <= MAX_LENGTH && VALID_NAME.test(name) && !/ {2}| $/.test(name)
}

/** Throws `invalid_input` unless the name is valid; `place` names the option or field. */
export function requireAgentName(name: string, place: string): void {
  if (isAgentName(name)) return
  const shown = JSON.stringify(name.slice(0, 60))
  throw new TroupeError('invalid_input', `${place} ${shown} is not a valid name of an agent`, { hint: AGENT_NAME_RULE })
}

/** A valid name that is similar to the text, such as the name of a file. */
export function toAgentName(text: string): string {
  const name = text.normalize('NFC').replace(INVALID_CHARACTERS, '-').replace(/ +/g, ' ').slice(0, MAX_LENGTH)
  const start = name.search(/[\p{L}\p{N}\p{Extended_Pictographic}_]/u)
  return start === -1 ? 'agent' : name.slice(start).replace(/[ -]+$/, '')
}

/** The name in a question: quoted unless it is one word, escaped if a journal has an invalid one, and marked if a model chose it. */
export function formatAgentName({ name, origin }: Pick<Agent, 'name' | 'origin'>): string {
  const isValid = isAgentName(name)
  const shown = !isValid ? `'${toAgentName(name)}' (its name is invalid)` : PLAIN_NAME.test(name) ? name : `'${name}'`
  return origin?.by === 'model' ? `${shown} (defined by a model)` : shown
}

/** Where the definition of an agent comes from, for questions: a file, a model or the program. */
export function agentSource({ origin }: Pick<Agent, 'origin'>): string {
  if (origin?.by === 'model') return 'a model'
  return origin?.path ?? 'the program'
}
