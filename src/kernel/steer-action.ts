import * as z from '../schema/zod.ts'

/** Steering commands for a running run. */
export const steerSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('pause') }),
  z.strictObject({ do: z.literal('step') }),
  z.strictObject({ do: z.literal('continue') }),
  z.strictObject({ do: z.literal('override'), agent: z.string().min(1) }),
  z.strictObject({
    do: z.literal('set'),
    name: z.string().min(1),
    value: z.union([z.number(), z.string(), z.boolean()]),
  }),
  z.strictObject({ do: z.literal('say'), text: z.string().min(1) }),
])

export type SteerAction = z.output<typeof steerSchema>

export interface SteeringCommand {
  action: SteerAction
  by: string
}
