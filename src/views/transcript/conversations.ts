/*
 * Groups the records of a transcript into conversations: that of the main agent, and one for each sub-agent. Records form a graph by `parentUuid`,
 * which may have cycles, forks and parents that are nowhere; records of unknown kinds are skipped, never fatal.
 */

type JsonObject = Readonly<Record<string, unknown>>

/** One tool call of a transcript with its result, if it has one. */
export interface TranscriptCall {
  call_id: string
  tool_name: string
  params: Record<string, unknown>
  started_at: string
  result?: { at: string; text: string; is_error: boolean; details: JsonObject }
}

export interface TranscriptConversation {
  /** The id of the sub-agent, or of the record that the conversation begins with. Empty for the main agent. */
  id: string
  prompt: string
  model_id: string | undefined
  started_at: string
  ended_at: string
  calls: TranscriptCall[]
  /** The text of the last answer. */
  answer: string
  /** The last record is an answer and not a request that nobody answered. */
  is_answered: boolean
  is_failed: boolean
  tokens: number
}

interface TranscriptRecord {
  uuid: string | undefined
  parent: string | undefined
  agent: string | undefined
  is_sidechain: boolean
  /** `meta`: written by the program and not by a person. `failed`: an error of the provider. */
  mark: 'meta' | 'failed' | undefined
  session: string | undefined
  at: string
  role: 'user' | 'assistant'
  parts: JsonObject[]
  model_id: string | undefined
  tokens: number
  details: JsonObject
}

export interface TranscriptConversations {
  session_id: string | undefined
  main: TranscriptConversation
  others: TranscriptConversation[]
}

/** `undefined` if no record is a message. */
export function readConversations(values: readonly unknown[]): TranscriptConversations | undefined {
  const records = uniqueRecords(values)
  const [first] = records
  if (!first) return undefined
  const isAlone = records.every(({ is_sidechain }) => is_sidechain)
  const byId = new Map(records.map((record) => [record.uuid, record]))
  const groups = Map.groupBy(records, (record) =>
    isAlone || !record.is_sidechain ? '' : (record.agent ?? chainStart(record, byId)),
  )
  const results = readResults(records)
  const used = new Set<string>()
  const conversations = [...groups].map(([id, group]) => toConversation({ id, group, results, used }))
  const main = conversations.find(({ id }) => id === '')
  const others = conversations.filter((conversation) => conversation !== main)
  return { session_id: first.session, main: main ?? emptyConversation(first.at), others }
}

function emptyConversation(at: string): TranscriptConversation {
  const facts = { is_answered: true, is_failed: false, tokens: 0 }
  return { id: '', prompt: '', model_id: undefined, started_at: at, ended_at: at, calls: [], answer: '', ...facts }
}

/** A resumed session repeats records of the one before. */
function uniqueRecords(values: readonly unknown[]): TranscriptRecord[] {
  const seen = new Set<string>()
  let last = new Date(0).toISOString()
  return values.flatMap((value) => {
    const record = toRecord(value, last)
    if (!record || (record.uuid !== undefined && seen.has(record.uuid))) return []
    if (record.uuid !== undefined) seen.add(record.uuid)
    last = record.at
    return [record]
  })
}

/** A record without a usable time has that of the one before. */
function toRecord(value: unknown, before: string): TranscriptRecord | undefined {
  if (!isObject(value) || (value.type !== 'user' && value.type !== 'assistant') || !isObject(value.message))
    return undefined
  const { content, usage, model } = value.message
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const time = typeof value.timestamp === 'string' ? Date.parse(value.timestamp) : Number.NaN
  return {
    uuid: text(value.uuid),
    parent: text(value.parentUuid),
    agent: text(value.agentId),
    is_sidechain: value.isSidechain === true,
    mark: value.isApiErrorMessage === true ? 'failed' : value.isMeta === true ? 'meta' : undefined,
    session: text(value.sessionId),
    at: Number.isNaN(time) ? before : new Date(time).toISOString(),
    role: value.type,
    parts: Array.isArray(parts) ? parts.filter(isObject) : [],
    model_id: text(model),
    tokens: isObject(usage) ? count(usage.input_tokens) + count(usage.output_tokens) : 0,
    details: isObject(value.toolUseResult) ? value.toolUseResult : {},
  }
}

/** The first record of a side chain; of a cycle, the one that was reached last. */
function chainStart(record: TranscriptRecord, byId: ReadonlyMap<string | undefined, TranscriptRecord>): string {
  const visited = new Set<TranscriptRecord>()
  let current = record
  for (;;) {
    visited.add(current)
    const parent = current.parent === undefined ? undefined : byId.get(current.parent)
    if (!parent?.is_sidechain || visited.has(parent)) return current.uuid ?? ''
    current = parent
  }
}

type Results = Map<string, NonNullable<TranscriptCall['result']>>

function readResults(records: readonly TranscriptRecord[]): Results {
  const results: Results = new Map()
  for (const { parts, at, details } of records) {
    for (const part of parts) {
      const id = part.type === 'tool_result' ? text(part.tool_use_id) : undefined
      if (id === undefined || results.has(id)) continue
      results.set(id, { at, text: contentText(part.content), is_error: part.is_error === true, details })
    }
  }
  return results
}

interface ConversationParts {
  id: string
  group: readonly TranscriptRecord[]
  results: Results
  /** Ids of calls that another conversation has: ids are unique in a session file. */
  used: Set<string>
}

function toConversation({ id, group, results, used }: ConversationParts): TranscriptConversation {
  const texts = (role: 'user' | 'assistant') =>
    group.filter((record) => record.role === role && record.mark !== 'meta').map(({ parts }) => contentText(parts))
  const last = group.at(-1)
  const times = group.map(({ at }) => at).sort()
  return {
    id,
    prompt: texts('user').find((one) => one !== '') ?? '',
    model_id: group.find(({ model_id }) => model_id !== undefined)?.model_id,
    started_at: times[0] ?? '',
    ended_at: times.at(-1) ?? '',
    calls: group.flatMap(({ parts, at }) => parts.flatMap((part) => toCall(part, { at, results, used }))),
    answer: texts('assistant').findLast((one) => one !== '') ?? '',
    is_answered: last?.role === 'assistant',
    is_failed: last?.mark === 'failed',
    tokens: group.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

function toCall(
  part: JsonObject,
  { at, results, used }: { at: string; results: Results; used: Set<string> },
): TranscriptCall[] {
  const call_id = part.type === 'tool_use' ? text(part.id) : undefined
  if (call_id === undefined || used.has(call_id)) return []
  used.add(call_id)
  const result = results.get(call_id)
  const params = isObject(part.input) ? { ...part.input } : {}
  return [
    { call_id, tool_name: text(part.name) ?? 'unknown', params, started_at: at, ...(result ? { result } : undefined) },
  ]
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content.trim()
  if (!Array.isArray(content)) return ''
  const texts = content.flatMap((part: unknown) =>
    isObject(part) && part.type === 'text' ? (text(part.text) ?? []) : [],
  )
  return texts.join('\n').trim()
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
