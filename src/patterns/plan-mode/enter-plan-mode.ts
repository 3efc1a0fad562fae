import { z } from 'zod'
import { definePattern } from '../../kernel/pattern.ts'

const input = z.object({
  reason: z.string().max(2000).optional().describe('Why a plan comes first, for the user who reads along.'),
})

/** Makes the session read-only until a person approves the plan submitted with `ExitPlanMode`. */
export const enterPlanMode = definePattern<z.output<typeof input>>({
  name: 'EnterPlanMode',
  version: 1,
  description:
    'Enter plan mode: from now on you and the agents you delegate to can read but not change anything. Call ExitPlanMode ' +
    'when the plan is ready.',
  category: 'planning',
  delegates: false,
  on_request: true,
  input,
  output: z.object({ planning: z.literal(true) }),
  async execute() {
    return { success: true, output: { planning: true }, plan_mode: true }
  },
})
