import { TroupeError } from '../../errors.ts'
import { definePattern } from '../../kernel/pattern.ts'
import * as z from '../../schema/zod.ts'

const enterInput = z.object({
  reason: z.string().max(2000).optional().describe('Why a plan comes first, for the user who reads along.'),
})

/** Makes the session read-only until a person approves the plan submitted with `ExitPlanMode`. */
export const enterPlanMode = definePattern({
  name: 'EnterPlanMode',
  only: 'tool',
  version: 1,
  description:
    'Enter plan mode: from now on you and the agents you delegate to can read but not change anything. Call ExitPlanMode ' +
    'when the plan is ready.',
  category: 'planning',
  on_request: true,
  input: enterInput,
  output: z.object({ planning: z.literal(true) }),
  async execute() {
    return { success: true, output: { planning: true }, plan_mode: true }
  },
})

const exitInput = z.object({
  plan: z.string().min(1).max(100_000).describe('The complete plan, in markdown: what to change, where, and why.'),
})

/** Opens an approval gate for the plan. Only an approval ends plan mode; any other answer is feedback to the agent. */
export const exitPlanMode = definePattern({
  name: 'ExitPlanMode',
  only: 'tool',
  version: 1,
  description:
    'Submit your plan for approval. If the user approves it, plan mode ends and you may carry it out. Otherwise you stay ' +
    'in plan mode and get feedback.',
  category: 'planning',
  on_request: true,
  input: exitInput,
  output: z.object({ approved: z.boolean(), feedback: z.string().optional() }),
  async execute(context, { plan }) {
    if (plan.trim() === '') throw new TroupeError('invalid_tool_input', '`plan` is empty', { hint: 'write the plan' })
    if (!context.caller?.planMode) {
      throw new TroupeError('tool_failed', '`ExitPlanMode`: you are not in plan mode', {
        responsible: 'model',
        hint: 'carry out the `plan` without calling ExitPlanMode',
      })
    }
    const answer = await context.ask('gate', {
      question: 'Approve this plan? Answer "approve", or describe what to change.',
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
