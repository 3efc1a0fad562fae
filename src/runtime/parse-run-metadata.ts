import { parseLimits } from '../engine/parse-limits.ts'
import { TroupeError } from '../errors.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import type { RunContextData } from '../kernel/run-metadata.ts'

const MAX_TAGS = 32
const MAX_TAG_CHARS = 100
const MAX_CONTEXT_BYTES = 64 * 1024

/** Throws `invalid_input` for limits that `createTroupe` rejects. */
export function checkLimits(limits: Partial<Limits>): void {
  parseLimits(DEFAULT_LIMITS, limits)
}

/** Validates tags and removes duplicates. Throws `invalid_input`. */
export function parseTags(tags: unknown): string[] {
  if (!Array.isArray(tags)) throw metadataError('tags', 'is not a list of strings')
  if (tags.length > MAX_TAGS) throw metadataError('tags', `has ${tags.length} entries; the maximum is ${MAX_TAGS}`)
  for (const tag of tags) {
    if (
      typeof tag !== 'string' ||
      tag.trim() !== tag ||
      tag === '' ||
      tag.length > MAX_TAG_CHARS ||
      !isPrintable(tag)
    ) {
      throw metadataError('tags', `has an invalid tag: ${JSON.stringify(tag)?.slice(0, MAX_TAG_CHARS)}`)
    }
  }
  return [...new Set<string>(tags)]
}

/** Validates the context of a run and returns a copy. Throws `invalid_input`, or `too_large`. */
export function parseRunContext(context: unknown): RunContextData {
  if (!isPlainObject(context)) throw metadataError('context', 'is not a plain object')
  const invalid = findNonJson(context, 'context', new Set())
  if (invalid !== undefined) throw metadataError('context', `holds a value that JSON cannot represent: ${invalid}`)
  const json = JSON.stringify(context)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_CONTEXT_BYTES) {
    throw new TroupeError(
      'too_large',
      `\`context\` of the run has ${bytes} bytes; the maximum is ${MAX_CONTEXT_BYTES}`,
      {
        hint: 'pass an id, and let tools look the data up',
      },
    )
  }
  return JSON.parse(json) as RunContextData
}

function metadataError(option: 'tags' | 'context', problem: string): TroupeError {
  const hint =
    option === 'tags'
      ? `use up to ${MAX_TAGS} strings of 1 to ${MAX_TAG_CHARS} printable characters, such as 'nightly' or 'customer:42'`
      : 'use an object of strings, numbers, booleans, null, lists and plain objects'
  return new TroupeError('invalid_input', `\`${option}\` of the run ${problem}`, { hint })
}

function isPrintable(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The path of a value that would change or vanish in JSON: it would differ after a resume. */
function findNonJson(value: unknown, path: string, above: ReadonlySet<unknown>): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path
  if (above.has(value) || !(Array.isArray(value) || isPlainObject(value))) return path
  const inside = new Set([...above, value])
  for (const [name, inner] of Object.entries(value)) {
    const found = findNonJson(inner, `${path}.${name}`, inside)
    if (found !== undefined) return found
  }
  return undefined
}
