import { canonicalJson } from '../kernel/hash.ts'
import type { Message } from '../kernel/model.ts'
import type { Cassette, CassetteEntry } from './cassette.ts'
import type { RecordedRequest } from './cassette-request.ts'
import { withPlaceholderIds } from './cassette-request.ts'

export type MissedRequest = Pick<CassetteEntry, 'key' | 'hash' | 'n' | 'request' | 'ids'>

const EXCERPT_CHARACTERS = 40
const MAX_SHOWN = 3

/** Explains why a cassette has no response to a request: how it differs from the most similar recorded one. */
export function describeMiss({ entries }: Cassette, missed: MissedRequest): string {
  const sameKey = entries.filter((entry) => entry.key === missed.key)
  const recorded = sameKey.filter((entry) => entry.hash === missed.hash).length
  if (recorded > 0) {
    const responses = recorded === 1 ? '1 response' : `${recorded} responses`
    return `request '${missed.key}' is sent for the ${ordinal(missed.n)} time; the cassette has ${responses}`
  }
  const nearest = nearestEntry(sameKey.length > 0 ? sameKey : entries, missed)
  if (!nearest) return `no response to request '${missed.key}': the cassette is empty`
  const candidate =
    sameKey.length > 0 ? 'the recorded request differs' : `the nearest is '${nearest.key}', which differs`
  return `no response to request '${missed.key}'; ${candidate}:\n${requestDifferences(nearest, missed)
    .map((line) => `  ${line}`)
    .join('\n')}`
}

/** The differences between two requests, one line each, short enough for one screen. */
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

function nearestEntry(entries: readonly CassetteEntry[], missed: MissedRequest): CassetteEntry | undefined {
  const request = withPlaceholderIds(missed.request, missed.ids)
  let best: { entry: CassetteEntry; score: number } | undefined
  for (const entry of entries) {
    const score = requestSimilarity(withPlaceholderIds(entry.request, entry.ids), request)
    if (!best || score > best.score) best = { entry, score }
  }
  return best?.entry
}

/** Similarity score from 0 to 3.75: system prompt, tools, settings, and the length of the common conversation prefix. */
function requestSimilarity(a: RecordedRequest, b: RecordedRequest): number {
  const different = a.messages.findIndex((message, index) => !isSame(message, b.messages[index]))
  const commonPrefix = different < 0 ? a.messages.length : different
  return (
    (a.system === b.system ? 1 : 0) +
    (isSame(a.tools, b.tools) ? 0.5 : 0) +
    (isSame(a.settings, b.settings) ? 0.25 : 0) +
    (2 * commonPrefix) / Math.max(a.messages.length, b.messages.length, 1)
  )
}

function messageDifferences(before: readonly Message[], after: readonly Message[]): string[] {
  const lines: string[] = []
  for (let index = 0; index < Math.min(before.length, after.length) && lines.length < MAX_SHOWN; index++) {
    const [a, b] = [before[index], after[index]]
    if (!a || !b || isSame(a, b)) continue
    const name = `message ${index + 1} (${b.role})`
    if (a.role === b.role) lines.push(...textDifference(name, messageText(a), messageText(b)))
    else lines.push(`${name}: recorded role ${a.role}`)
  }
  if (before.length !== after.length) lines.push(`messages: recorded ${before.length}, now ${after.length}`)
  return lines
}

/** A message as text, with non-text parts as JSON. */
function messageText(message: Message): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : canonicalJson(part))).join('\n')
}

function toolDifferences({ tools: before }: RecordedRequest, { tools: after }: RecordedRequest): string[] {
  const names = (list: readonly { name: string }[], other: readonly { name: string }[]) =>
    list.map(({ name }) => name).filter((name) => !other.some((tool) => tool.name === name))
  const [removed, added] = [names(before, after), names(after, before)]
  const changed = before.flatMap((tool) => {
    const now = after.find(({ name }) => name === tool.name)
    return now && !isSame(tool, now) ? textDifference(`tool ${tool.name}`, canonicalJson(tool), canonicalJson(now)) : []
  })
  const lines = [
    ...(removed.length > 0 ? [`tools: removed: ${removed.join(', ')}`] : []),
    ...(added.length > 0 ? [`tools: added: ${added.join(', ')}`] : []),
    ...changed.slice(0, MAX_SHOWN),
  ]
  return lines.length > 0 || isSame(before, after) ? lines : ['tools: different order']
}

function fieldDifferences(name: string, before: object, after: object): string[] {
  const [a, b] = [before as Record<string, unknown>, after as Record<string, unknown>]
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter((field) => !isSame(a[field], b[field]))
    .map((field) => `${name}.${field}: recorded ${formatValue(a[field])}, now ${formatValue(b[field])}`)
}

/** The first difference between two texts, with some context around it. */
export function textDifference(name: string, before: string, after: string): string[] {
  if (before === after) return []
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  const from = Math.max(0, start - EXCERPT_CHARACTERS / 2)
  const excerpt = (text: string) => {
    const part = text.slice(from, start + EXCERPT_CHARACTERS)
    return JSON.stringify(`${from > 0 ? '…' : ''}${part}${text.length > start + EXCERPT_CHARACTERS ? '…' : ''}`)
  }
  return [`${name}: recorded ${excerpt(before)}, now ${excerpt(after)}`]
}

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'unset'
  return text.length > 2 * EXCERPT_CHARACTERS ? `${text.slice(0, 2 * EXCERPT_CHARACTERS)}…` : text
}

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

function ordinal(n: number): string {
  return n === 1 ? 'first' : n === 2 ? 'second' : n === 3 ? 'third' : `${n}th`
}
