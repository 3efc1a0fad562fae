import { TroupeError } from '../errors.ts'
import type { Gate } from '../kernel/gate.ts'

/** Throws `invalid_input` if the gate has `choices` and the answer is none of them. */
export function checkGateAnswer({ choices, question }: Gate, answer: unknown): void {
  if (!choices || choices.some((choice) => choice === answer)) return
  throw new TroupeError('invalid_input', `\`answer\` '${String(answer)}' is not one of the choices for "${question}"`, {
    alternatives: choices,
    hint: `answer one of: ${choices.join(', ')}`,
  })
}
