import { commonPrefixLength } from './common-prefix.ts'
import type { SentRequest } from './wire-requests.ts'

/*
 * The share of the input that a provider bills as cached. A request can use what an earlier one sent, if its response had begun:
 * requests that are sent at the same time share nothing. Providers compare tools, schema, system prompt and messages, in this order.
 */

/** Shorter prefixes are not cached: OpenAI, Gemini, most models of Anthropic. In characters, four per token. */
const MIN_CACHED_CHARS = 1024 * 4
/** Anthropic finds an entry at most this many blocks before a breakpoint. */
const LOOKBACK_BLOCKS = 20

export interface CacheCount {
  chars: number
  cached: number
}

/** Counts the characters of each request, and those that an earlier request put into the cache. */
export function countCached(requests: readonly SentRequest[], byBreakpoint: boolean): CacheCount[] {
  return requests.map((request) => {
    const { text } = request
    const earlier = request.answered.map((index) => requests[index]).filter((other) => other !== undefined)
    const prefixes = byBreakpoint
      ? [entryLength(request, earlier)]
      : earlier.map((other) => commonPrefixLength(other.text, text))
    const cached = Math.max(0, ...prefixes)
    return { chars: text.length, cached: cached < MIN_CACHED_CHARS ? 0 : cached }
  })
}

/** The longest prefix that ends at a breakpoint of an earlier request, in reach of one of this request. */
function entryLength({ blocks }: SentRequest, earlier: readonly SentRequest[]): number {
  const entries = new Set(earlier.flatMap((other) => other.blocks.filter(({ marked }) => marked).map(({ end }) => end)))
  const reachable = blocks.filter(
    ({ end }, index) => entries.has(end) && blocks.slice(index, index + LOOKBACK_BLOCKS).some(({ marked }) => marked),
  )
  return Math.max(0, ...reachable.map(({ end }) => end.length))
}
