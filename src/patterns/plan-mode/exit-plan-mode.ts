import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import { definePattern } from '../../kernel/pattern.ts'

const input = z.object({
  plan: z.string().min(1).max(100_000).describe('The whole plan, in markdown: what will be changed, where, and why.'),
})

/** Shows the plan to a person. Only their yes ends plan mode; anything else they say goes back to the agent. */
export const exitPlanMode = definePattern<z.output<typeof input>>({
  name: 'ExitPlanMode',
  version: 1,
  description:
    'Hand in your plan. A person reads it; if they agree, you may carry it out. Otherwise you stay in plan mode and get ' +
    'their answer.',
  category: 'planning',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ approved: z.boolean(), feedback: z.string().optional() }),
  async execute(context, { plan }) {
    if (plan.trim() === '') throw new TroupeError('invalid_tool_input', 'the plan is empty')
    if (!context.caller?.planMode) {
      throw new TroupeError('tool_failed', 'you are not in plan mode', {
        responsible: 'model',
        hint: 'go ahead without it',
      })
    }
    const answer = await context.ask('gate', {
      question: 'Shall this plan be carried out? Answer "approve", or say what to change.',
      detail: { plan, answers: ['approve', 'reject'] },
    })
    if (isApproval(answer)) return { success: true, output: { approved: true }, plan_mode: false }
    const feedback = typeof answer === 'string' ? answer : JSON.stringify(answer)
    return { success: true, output: { approved: false, feedback } }
  },
})

function isApproval(answer: unknown): boolean {
  return answer === true || (typeof answer === 'string' && /^(approve|approved|yes|y|allow|ok)$/i.test(answer.trim()))
}
