import { z } from 'zod'
import type { ErrorRecord } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { ModelChunk, ModelErrorInfo } from '../kernel/model.ts'
import type { RecordedRequest } from './cassette-request.ts'

/*
 * A cassette: every model call of a run, with what was asked and what was answered. JSON Lines: a header, then one line for
 * each model that was found by its name, each call, and each decision to try a failed call again.
 */

export const CASSETTE_VERSION = 1

/** A model as the run found it; `asked` is the name it asked for, `null` for none. */
export interface ResolvedLine {
  resolved: {
    asked: string | null
    name: string
    limits?: { context?: number; output?: number }
    error?: ErrorRecord
  }
}

/** One call. Its answer is found by key, hash and `n`: the how-manieth call of this key and hash it was. */
export interface CassetteEntry {
  key: string
  hash: string
  n: number
  model: string
  request: RecordedRequest
  /** Ids that derive from the run, in the order in which the request names them first. */
  ids: string[]
  chunks: ModelChunk[]
  /** How it broke off, if it did. */
  error?: ModelErrorInfo & { record: ErrorRecord }
  /** The code with which the run itself broke it off: there is no answer. */
  aborted?: string
}

/** After this failed call another attempt was made, with this model. */
export interface RetryLine {
  retry: { key: string; hash: string; n: number; model: string }
}

export type CassetteLine = ResolvedLine | CassetteEntry | RetryLine

export interface Cassette {
  /** The file, for people. */
  name: string
  resolved: ResolvedLine['resolved'][]
  entries: CassetteEntry[]
  retries: RetryLine['retry'][]
  /** The last line, when it was not finished: whoever recorded it was killed. */
  truncatedLine: number | undefined
}

/** Where lines are written, one by one, at once. */
export type CassetteSink = (line: string) => void

export const CASSETTE_HEADER = JSON.stringify({ troupe_cassette: CASSETTE_VERSION })

const errorRecord = z.looseObject({ code: z.string(), message: z.string() })
const errorFacts = { status: z.number().optional(), retry_after_ms: z.number().optional(), mark: z.string().optional() }
const usage = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  reasoning: z.number(),
})
const chunk = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string() }),
  z.looseObject({ type: z.literal('tool-call'), id: z.string(), name: z.string() }),
  z.looseObject({ type: z.literal('finish'), stop: z.string(), usage: usage.optional(), mark: z.string().optional() }),
])
const request = z.looseObject({
  model: z.string(),
  system: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) })),
  tools: z.array(z.looseObject({ name: z.string() })),
  settings: z.looseObject({}),
})
const entryLine = z.object({
  key: z.string(),
  hash: z.string(),
  n: z.int().positive(),
  model: z.string(),
  request,
  ids: z.array(z.string()),
  chunks: z.array(chunk),
  error: z.object({ record: errorRecord, ...errorFacts, usage: usage.optional() }).optional(),
  aborted: z.string().optional(),
})
const limits = z.object({ context: z.number().optional(), output: z.number().optional() })
const resolvedLine = z.object({
  resolved: z.object({
    asked: z.string().nullable(),
    name: z.string(),
    limits: limits.optional(),
    error: errorRecord.optional(),
  }),
})
const retryLine = z.object({
  retry: z.object({ key: z.string(), hash: z.string(), n: z.int().positive(), model: z.string() }),
})

/** Reads a cassette; `invalid_cassette` names the line. A last line that a crash cut off is left out and noted. */
export function parseCassette(text: string, name: string): Cassette {
  const lines = text.split('\n')
  const complete = lines.at(-1) === ''
  if (complete) lines.pop()
  const cassette: Cassette = { name, resolved: [], entries: [], retries: [], truncatedLine: undefined }
  checkHeader(lines[0] ?? '', name)
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue
    const last = !complete && index === lines.length - 1
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      if (!last) throw invalidCassetteError(name, index + 1, 'is not JSON')
      cassette.truncatedLine = index + 1
      continue
    }
    addLine(cassette, value, index + 1)
  }
  return cassette
}

function checkHeader(line: string, name: string): void {
  if (line === '') throw invalidCassetteError(name, 1, 'is empty: there is no header')
  let version: unknown
  try {
    version = (JSON.parse(line) as { troupe_cassette?: unknown } | null)?.troupe_cassette
  } catch {
    version = undefined
  }
  if (typeof version !== 'number') throw invalidCassetteError(name, 1, `is no header such as ${CASSETTE_HEADER}`)
  if (version === CASSETTE_VERSION) return
  const age = version > CASSETTE_VERSION ? 'a newer version' : 'an unknown version'
  throw new TroupeError(
    'invalid_cassette',
    `${name} is a cassette of ${age} (${version}); this one reads ${CASSETTE_VERSION}`,
    { hint: 'use the version of troupe that recorded it, or record it anew' },
  )
}

function addLine(cassette: Cassette, value: unknown, line: number): void {
  const kind = typeof value === 'object' && value !== null ? value : {}
  if ('resolved' in kind)
    cassette.resolved.push(validateLine(resolvedLine, kind, cassette.name, line).resolved as never)
  else if ('retry' in kind) cassette.retries.push(validateLine(retryLine, kind, cassette.name, line).retry)
  else cassette.entries.push(validateLine(entryLine, kind, cassette.name, line) as unknown as CassetteEntry)
}

function validateLine<T>(schema: z.ZodType<T>, value: unknown, name: string, line: number): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidCassetteError(name, line, `does not fit: ${issue?.path.map(String).join('.')}: ${issue?.message}`)
}

function invalidCassetteError(name: string, line: number, why: string): TroupeError {
  return new TroupeError('invalid_cassette', `${name}:${line} ${why}`, {
    hint: 'record the cassette anew, or take it from where it was kept',
  })
}
