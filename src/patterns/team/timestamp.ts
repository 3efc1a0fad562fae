const DAY = 86_400_000

/** Milliseconds since 1970 as `2030-01-31T10:30:00.000Z`. Patterns have no clock of their own, so no `Date` either. */
export function timestampOf(ms: number): string {
  const days = Math.floor(ms / DAY)
  const { year, month, day } = civil(days)
  const rest = ms - days * DAY
  const [hours, minutes] = [Math.floor(rest / 3_600_000), Math.floor(rest / 60_000) % 60]
  const [seconds, millis] = [Math.floor(rest / 1000) % 60, Math.floor(rest) % 1000]
  const date = `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`
  return `${date}T${padded(hours, 2)}:${padded(minutes, 2)}:${padded(seconds, 2)}.${padded(millis, 3)}Z`
}

/** The date of a day, counted from 1970: years begin in March, so that the leap day is the last of its year. */
function civil(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const leaps = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1,
  }
}

function padded(value: number, length: number): string {
  return String(value).padStart(length, '0')
}
