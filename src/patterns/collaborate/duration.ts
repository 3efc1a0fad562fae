import { z } from 'zod'

const DURATION_PATTERN = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/
const MS_PER_UNIT = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of `300s`, `5m` or a number of seconds; `undefined` when it is neither. */
export function parseDuration(duration: string | number): number | undefined {
  if (typeof duration === 'number') return duration > 0 ? duration * 1000 : undefined
  const [, amount, unit] = DURATION_PATTERN.exec(duration.trim()) ?? []
  const ms = Number(amount) * MS_PER_UNIT[(unit ?? 'ms') as keyof typeof MS_PER_UNIT]
  return ms > 0 ? ms : undefined
}

/** As it is written in inputs and configurations. */
export const durationSchema = z
  .union([z.string(), z.number()])
  .refine((value) => parseDuration(value) !== undefined, 'a duration such as 300s, 5m, or a number of seconds')
