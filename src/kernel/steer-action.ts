import * as z from '../schema/zod.ts'
import { attachmentSchema } from './attachment-schema.ts'

/** The nested run that takes the action: names from the top, such as `legal/contracts`. Default: the run itself. */
const path = z.string().min(1).optional()

/** Steering commands for a running run. */
export const steerSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('pause'), path }),
  z.strictObject({ do: z.literal('step'), path }),
  z.strictObject({ do: z.literal('continue'), path }),
  z.strictObject({ do: z.literal('override'), agent: z.string().min(1), path }),
  z.strictObject({
    do: z.literal('set'),
    name: z.string().min(1),
    value: z.union([z.number(), z.string(), z.boolean()]),
    path,
  }),
  z.strictObject({
    do: z.literal('say'),
    text: z.string().min(1),
    attachments: z.array(attachmentSchema).optional(),
    path,
  }),
])

export type SteerAction = z.output<typeof steerSchema>

export interface SteeringCommand {
  action: SteerAction
  by: string
}
