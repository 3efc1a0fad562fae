import { TroupeError } from '../../errors.ts'
import { definePattern } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'

const input = z.strictObject({
  question: z.string(),
  choices: z.array(z.string().min(1)).min(2).max(10).optional(),
})

/** Human-in-the-loop: asks the user from any depth. The question opens a gate, and the run waits without cost. */
export const askUser = definePattern({
  name: 'ask_user',
  aliases: ['AskUserQuestion'],
  only: 'tool',
  version: 1,
  description:
    'Ask the user, in a self-contained question, what you cannot find out or decide yourself. The answer may take long.',
  category: 'interaction',
  input,
  output: z.object({ answer: z.unknown() }),
  async execute(context, { question, choices }) {
    if (question.trim() === '')
      throw new TroupeError('invalid_input', '`question` is empty', { hint: 'write the question' })
    const answer = await context.ask('gate', { question, ...(choices ? { choices } : undefined) })
    return { success: true, output: { answer } }
  },
})
