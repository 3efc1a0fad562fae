import { z } from 'zod'
import { definePattern } from '../../kernel/pattern.ts'

const input = z.object({
  reason: z.string().max(2000).optional().describe('Why a plan is wanted first, for the person who reads along.'),
})

/** From here on the agent may look and plan, and change nothing, until a person lets it out with `ExitPlanMode`. */
export const enterPlanMode = definePattern<z.output<typeof input>>({
  name: 'EnterPlanMode',
  version: 1,
  description:
    'Begin to plan: from now on you and those you delegate to can look at everything and change nothing. Leave with ' +
    'ExitPlanMode when the plan is ready.',
  category: 'planning',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ planning: z.literal(true) }),
  async execute() {
    return { success: true, output: { planning: true }, plan_mode: true }
  },
})
