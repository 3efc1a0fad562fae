import { TroupeError } from '../../errors.ts'

/** The time at which the day of `--since` begins, in UTC. */
export function parseDay(since: string): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(`${since}T00:00:00Z`) : Number.NaN
  if (!Number.isNaN(day) && new Date(day).toISOString().startsWith(since)) return day
  throw new TroupeError('invalid_input', `--since ${since}: not a valid date`, {
    hint: 'write a UTC date: --since 2026-11-15',
  })
}
