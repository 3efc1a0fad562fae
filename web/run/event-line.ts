export interface EventLine {
  seq: number
  at: number | null
  type: string
  summary: string
}

/** Fields that are the same in every event, or that stand in a column of their own. */
const COMMON = new Set(['seq', 'at', 'ts', 'time', 'type', 'id', 'run_id', 'session_id', 'project', 'v', 'epoch'])
const LONGEST = 240

/** An event in one line. It knows no type: an event of a newer version looks like every other. */
export function eventLine(event: unknown, position: number): EventLine {
  const fields: Record<string, unknown> = typeof event === 'object' && event !== null ? { ...event } : { value: event }
  const { seq, type } = fields
  return {
    seq: typeof seq === 'number' ? seq : position,
    at: timeOf(fields.at ?? fields.ts ?? fields.time),
    type: typeof type === 'string' ? type : 'event',
    summary: summaryOf(fields),
  }
}

function timeOf(value: unknown): number | null {
  if (typeof value === 'number') return value
  const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(parsed) ? null : parsed
}

function summaryOf(fields: Record<string, unknown>): string {
  const parts: string[] = []
  let length = 0
  const add = (key: string, value: unknown) => {
    if (length > LONGEST || value === null || value === undefined) return
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    const part = `${key}: ${text.slice(0, LONGEST)}`
    length += part.length
    parts.push(part)
  }
  for (const [key, value] of Object.entries(fields)) {
    if (COMMON.has(key)) continue
    // The content of an event often stands in one object.
    if (key === 'data' && typeof value === 'object' && value !== null)
      for (const [name, content] of Object.entries(value)) add(name, content)
    else add(key, value)
  }
  return parts.join(' · ').slice(0, LONGEST * 2)
}
