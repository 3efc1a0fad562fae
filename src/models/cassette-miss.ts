import { canonicalJson } from '../kernel/hash.ts'
import type { Message } from '../kernel/model.ts'
import type { Cassette, CassetteEntry } from './cassette.ts'
import type { RecordedRequest } from './cassette-request.ts'
import { withPlaceholderIds } from './cassette-request.ts'

/*
 * Why a cassette has no answer: which recorded request comes nearest, and what of it is different now.
 */

export interface MissedRequest extends Pick<CassetteEntry, 'key' | 'hash' | 'n' | 'request' | 'ids'> {}

const EXCERPT_CHARACTERS = 40
const MAX_SHOWN = 3

export function describeMiss({ entries }: Cassette, asked: MissedRequest): string {
  const sameKey = entries.filter((entry) => entry.key === asked.key)
  const same = sameKey.filter((entry) => entry.hash === asked.hash).length
  if (same > 0) {
    return `the call '${asked.key}' is asked for the ${ordinal(asked.n)} time; ${same === 1 ? 'one answer was' : `${same} answers were`} recorded`
  }
  const nearest = nearestEntry(sameKey.length > 0 ? sameKey : entries, asked)
  if (!nearest) return `no answer to the call '${asked.key}': the cassette is empty`
  const where = sameKey.length > 0 ? 'recorded under this key' : `nearest is '${nearest.key}'`
  return `no answer to the call '${asked.key}'; ${where}, but:\n${requestDifferences(nearest, asked)
    .map((line) => `  ${line}`)
    .join('\n')}`
}

/** What is different, in words, the part of the request first; in all as much as fits a screen. */
export function requestDifferences(
  recorded: Pick<MissedRequest, 'request' | 'ids'>,
  now: Pick<MissedRequest, 'request' | 'ids'>,
): string[] {
  const [before, after] = [withPlaceholderIds(recorded.request, recorded.ids), withPlaceholderIds(now.request, now.ids)]
  return [
    ...(before.model === after.model ? [] : [`model: recorded ${before.model}, now ${after.model}`]),
    ...textDifference('system', before.system, after.system),
    ...messageDifferences(before.messages, after.messages),
    ...toolDifferences(before, after),
    ...fieldDifferences('settings', before.settings, after.settings),
    ...fieldDifferences('output', before.output ?? {}, after.output ?? {}),
  ]
}

function nearestEntry(entries: readonly CassetteEntry[], asked: MissedRequest): CassetteEntry | undefined {
  const after = withPlaceholderIds(asked.request, asked.ids)
  let best: { entry: CassetteEntry; score: number } | undefined
  for (const entry of entries) {
    const score = requestSimilarity(withPlaceholderIds(entry.request, entry.ids), after)
    if (!best || score > best.score) best = { entry, score }
  }
  return best?.entry
}

/** From 0 to 4: who is asked, with which tools, and how much of the conversation is the same from its start. */
function requestSimilarity(a: RecordedRequest, b: RecordedRequest): number {
  const different = a.messages.findIndex((message, index) => !isSame(message, b.messages[index]))
  const equal = different < 0 ? a.messages.length : different
  return (
    (a.system === b.system ? 1 : 0) +
    (isSame(a.tools, b.tools) ? 0.5 : 0) +
    (isSame(a.settings, b.settings) ? 0.25 : 0) +
    (2 * equal) / Math.max(a.messages.length, b.messages.length, 1)
  )
}

function messageDifferences(before: readonly Message[], after: readonly Message[]): string[] {
  const lines: string[] = []
  for (let index = 0; index < Math.min(before.length, after.length) && lines.length < MAX_SHOWN; index++) {
    const [a, b] = [before[index], after[index]]
    if (!a || !b || isSame(a, b)) continue
    const name = `message ${index + 1} (${b.role})`
    if (a.role === b.role) lines.push(...textDifference(name, messageText(a), messageText(b)))
    else lines.push(`${name}: recorded was one of ${a.role}`)
  }
  if (before.length !== after.length) lines.push(`messages: recorded ${before.length}, now ${after.length}`)
  return lines
}

/** A message as text; parts that are no text as JSON. */
function messageText(message: Message): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : canonicalJson(part))).join('\n')
}

function toolDifferences({ tools: before }: RecordedRequest, { tools: after }: RecordedRequest): string[] {
  const names = (list: readonly { name: string }[], other: readonly { name: string }[]) =>
    list.map(({ name }) => name).filter((name) => !other.some((tool) => tool.name === name))
  const [gone, added] = [names(before, after), names(after, before)]
  const changed = before.flatMap((tool) => {
    const now = after.find(({ name }) => name === tool.name)
    return now && !isSame(tool, now) ? textDifference(`tool ${tool.name}`, canonicalJson(tool), canonicalJson(now)) : []
  })
  const lines = [
    ...(gone.length > 0 ? [`tools: no longer there: ${gone.join(', ')}`] : []),
    ...(added.length > 0 ? [`tools: new: ${added.join(', ')}`] : []),
    ...changed.slice(0, MAX_SHOWN),
  ]
  return lines.length > 0 || isSame(before, after) ? lines : ['tools: in another order']
}

function fieldDifferences(name: string, before: object, after: object): string[] {
  const [a, b] = [before as Record<string, unknown>, after as Record<string, unknown>]
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((field) => !isSame(a[field], b[field]))
    .map((field) => `${name}.${field}: recorded ${formatValue(a[field])}, now ${formatValue(b[field])}`)
}

/** Where two texts part, with a little around it. */
export function textDifference(name: string, before: string, after: string): string[] {
  if (before === after) return []
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  const from = Math.max(0, start - EXCERPT_CHARACTERS / 2)
  const around = (text: string) => {
    const part = text.slice(from, start + EXCERPT_CHARACTERS)
    return JSON.stringify(`${from > 0 ? '…' : ''}${part}${text.length > start + EXCERPT_CHARACTERS ? '…' : ''}`)
  }
  return [`${name}: recorded ${around(before)}, now ${around(after)}`]
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 2 * EXCERPT_CHARACTERS ? `${text.slice(0, 2 * EXCERPT_CHARACTERS)}…` : text
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

function ordinal(n: number): string {
  return n === 1 ? 'first' : n === 2 ? 'second' : n === 3 ? 'third' : `${n}th`
}
