import { readFileSync } from 'node:fs'

/*
 * Reads the messages of a trace that another program recorded: an object with `history`, or one object a line. A message has a speaker
 * (`agent`, `name` or `role`) and a `content`; `to`, or a role such as `Orchestrator (-> WebSurfer)`, names the addressee. Tool calls, their
 * results and thoughts are left out: nobody hands them off.
 */

export interface TraceMessage {
  /** Index of its record in the file. */
  record: number
  agent: string
  to?: string
  isPerson: boolean
  text: string
}

const PEOPLE = new Set(['human', 'user'])

type TraceRecord = Readonly<Record<string, unknown>>

export function readTrace(path: string | URL): TraceMessage[] {
  return parseRecords(readFileSync(path, 'utf8')).flatMap((entry, record) => {
    const { content } = entry
    const speaker = parseSpeaker(entry)
    if (speaker === undefined || typeof content !== 'string' || content.trim() === '') return []
    if (speaker.isThought) return []
    const { agent, isPerson, to } = speaker
    return [{ record, agent, ...(to !== undefined && { to }), isPerson, text: content }]
  })
}

function parseRecords(text: string): TraceRecord[] {
  if (!text.includes('\n{')) {
    const whole = JSON.parse(text) as { history?: TraceRecord[] }
    if (whole.history) return whole.history
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => JSON.parse(line) as TraceRecord)
}

function parseSpeaker({ agent, name, role, to }: TraceRecord) {
  const named = textOf(agent) ?? textOf(name)
  const label = named ?? textOf(role)
  if (label === undefined || role === 'system') return undefined
  const marked = /^(.*?)\s*\((->|→)?\s*([^()]+)\)$/u.exec(textOf(role) ?? label)
  const isPerson = PEOPLE.has(label.toLowerCase())
  return {
    agent: named ?? marked?.[1] ?? label,
    to: textOf(to) ?? (marked?.[2] ? marked[3] : undefined),
    isThought: marked?.[3] !== undefined && !marked[2],
    isPerson,
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
