import { setBy } from '../../schema/input-forms.ts'
import * as z from '../../schema/zod.ts'
import { escalations, focusAreas } from './contracts.ts'

/** Rounds cost money, and `force_approve` would pass over the review: callers from outside set neither. */
export const buildInput = z.object({
  request: z.string().min(1).max(100_000).describe('What to build or change in the repository.'),
  approve_plan: z.boolean().optional().describe('Ask a person to approve or edit the plan before anyone works on it.'),
  max_iterations: setBy(z.int().min(1).max(20).optional().describe('Rounds of work and review. Default: 3.'), {
    request: false,
  }),
  escalation_on_max: setBy(
    z.enum(escalations).optional().describe('What happens when the last round is not approved. Default: human_review.'),
    { request: false },
  ),
  focus_areas: z.array(z.enum(focusAreas)).max(4).optional().describe('What the reviewer looks at most of all.'),
  style_guide: z.string().max(20_000).optional().describe('Rules that developers follow.'),
})

export type BuildInput = z.output<typeof buildInput>
