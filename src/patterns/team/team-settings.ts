import type { TeamInput } from '../../judgement/team/team-schema.ts'
import * as z from '../../schema/zod.ts'

/** Settings of teams (`createTroupe({ team })`). */
export interface TeamSettings {
  /** The teams that agents can call by name with the tool `team`: paths of team files, or teams as data. Default: none, and no such tool. */
  teams?: readonly (TeamInput | string)[]
}

const text = z.string().min(1)

export const teamSettings = z.strictObject({
  teams: z
    .array(z.union([text, z.looseObject({ name: text })]))
    .describe('The teams that agents can call by name: team files, or teams as data.')
    .optional(),
})
