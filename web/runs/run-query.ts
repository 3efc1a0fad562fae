import type { RunQuery } from '../data/source.ts'
import type { ViewState } from '../design/state.tsx'

/* The filter of the list: `state:failed tag:portal pattern:NAME words`. Words are searched in the texts of the runs. */

export interface RunFilter {
  /** The whole text. */
  query: string
  states: readonly ViewState[]
  tags: readonly string[]
  pattern: string | null
  text: string
}

const STATE_WORDS: Record<string, ViewState> = {
  needs: 'waiting',
  needs_you: 'waiting',
  waiting: 'waiting',
  stalled: 'stalled',
  interrupted: 'stalled',
  running: 'running',
  pending: 'pending',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** Parts of the filter; a part with quotes may hold spaces: `tag:"two words"`. */
const PART = /(?:(\w+):)?(?:"([^"]*)"|(\S+))/g

export function parseFilter(query: string): RunFilter {
  const states = new Set<ViewState>()
  const tags = new Set<string>()
  const words: string[] = []
  let pattern: string | null = null
  for (const [whole, key, quoted, plain] of query.matchAll(PART)) {
    const value = quoted ?? plain ?? ''
    const state = STATE_WORDS[value.toLowerCase()]
    if (key === 'state' && state !== undefined) states.add(state)
    else if (key === 'tag' && value !== '') tags.add(value)
    else if (key === 'pattern' && value !== '') pattern = value
    else words.push(key === undefined ? value : whole)
  }
  return { query, states: [...states], tags: [...tags], pattern, text: words.join(' ').trim() }
}

/** The filter with a state added, or removed if it is there. */
export function toggleState(query: string, state: ViewState): string {
  const { states } = parseFilter(query)
  if (!states.includes(state)) return `${query.trimEnd()} state:${state}`.trim()
  const kept = [...query.matchAll(PART)].filter(
    ([, key, quoted, plain]) => key !== 'state' || STATE_WORDS[(quoted ?? plain ?? '').toLowerCase()] !== state,
  )
  return kept.map(([whole]) => whole).join(' ')
}

export function addTag(query: string, tag: string): string {
  if (parseFilter(query).tags.includes(tag)) return query
  const part = /[\s"]/.test(tag) ? `tag:"${tag.replaceAll('"', '')}"` : `tag:${tag}`
  return `${query.trimEnd()} ${part}`.trim()
}

const LIVE_STATUSES = ['pending', 'running', 'waiting'] as const
const ENDED_STATUSES = ['completed', 'failed', 'cancelled'] as const

/** Whether runs that have not ended can match. */
export function wantsLive({ states }: RunFilter): boolean {
  return states.length === 0 || states.some((state) => !ENDED_STATUSES.some((ended) => ended === state))
}

export function wantsEnded({ states }: RunFilter): boolean {
  return states.length === 0 || states.some((state) => ENDED_STATUSES.some((ended) => ended === state))
}

/** What the server is asked for, in two parts: live runs are few and all loaded, ended ones come in pages. */
export function toRunQuery(filter: RunFilter, part: 'live' | 'ended'): RunQuery {
  const { states, tags, pattern, text } = filter
  const ended = ENDED_STATUSES.filter((status) => states.includes(status))
  return {
    status: part === 'live' ? LIVE_STATUSES : ended.length > 0 ? ended : ENDED_STATUSES,
    ...(pattern === null ? undefined : { pattern }),
    ...(tags.length === 0 ? undefined : { tags }),
    ...(text === '' ? undefined : { text }),
  }
}

/** Whether the server has to be asked which live runs match. */
export function narrowsLive({ tags, pattern, text }: RunFilter): boolean {
  return tags.length > 0 || pattern !== null || text !== ''
}
