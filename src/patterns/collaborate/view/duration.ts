import * as z from '../../../schema/zod.ts'

const DURATION_PATTERN = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/
const MS_PER_UNIT = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Parses `300s`, `5m` or a number of seconds into milliseconds; `undefined` if invalid. */
export function parseDuration(duration: string | number): number | undefined {
  if (typeof duration === 'number') return duration > 0 ? duration * 1000 : undefined
  const [, amount, unit] = DURATION_PATTERN.exec(duration.trim()) ?? []
  const ms = Number(amount) * MS_PER_UNIT[(unit ?? 'ms') as keyof typeof MS_PER_UNIT]
  return ms > 0 ? ms : undefined
}

export const durationSchema = z
  .union([z.string(), z.number()])
  .refine(
    (value) => parseDuration(value) !== undefined,
    'must be a duration such as 300s or 5m, or a number of seconds',
  )
