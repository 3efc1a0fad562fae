import { useSyncExternalStore } from 'react'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import { pagePath } from './page-path.ts'

/*
 * Addresses, below the path of the page. Each place of the viewer has one: `/runs?q=…`, `/runs/RUN/TAB?at=call:ID&t=FROM..TO&seq=N`, `/inbox/GATE`, `/metrics`. In a
 * one-file export the same addresses stand behind `#`.
 */

export interface RunPlace {
  page: 'run'
  runId: string
  /** `timeline`, `messages`, `cost`, `events`, or the id of a panel. */
  tab: string
  at: TimelineRef | null
  /** The time in view, in milliseconds since 1970. */
  range: [from: number, to: number] | null
  /** Set while an earlier moment is shown. */
  seq: number | null
}

export type Place =
  | { page: 'runs'; query: string }
  | RunPlace
  | { page: 'inbox'; gateId: string | null }
  | { page: 'metrics' }
  | { page: 'unknown'; path: string }

const KINDS: readonly TimelineRef['kind'][] = [
  'agent',
  'session',
  'turn',
  'call',
  'gate',
  'message',
  'delegation',
  'handoff',
  'vote',
  'event',
]

export function runPlace(runId: string, part: Partial<Omit<RunPlace, 'page' | 'runId'>> = {}): RunPlace {
  return { page: 'run', runId, tab: 'timeline', at: null, range: null, seq: null, ...part }
}

/** The place of a path with its query. Parts that make no sense are ignored. */
export function parsePlace(address: string): Place {
  const { pathname, searchParams } = new URL(address, 'http://page.invalid')
  const [first = '', second, third, ...rest] = pathname.split('/').filter(Boolean).map(decodePart)
  if (rest.length > 0) return { page: 'unknown', path: pathname }
  if (first === '' || (first === 'runs' && second === undefined))
    return { page: 'runs', query: searchParams.get('q') ?? '' }
  if (first === 'runs' && second !== undefined)
    return runPlace(second, {
      tab: third ?? 'timeline',
      at: parseRef(searchParams.get('at')),
      range: parseRange(searchParams.get('t')),
      seq: parseSeq(searchParams.get('seq')),
    })
  if (first === 'inbox' && third === undefined) return { page: 'inbox', gateId: second ?? null }
  if (first === 'metrics' && second === undefined) return { page: 'metrics' }
  return { page: 'unknown', path: pathname }
}

/** The address of a place; `parsePlace` reads it back. */
export function formatPlace(place: Place): string {
  switch (place.page) {
    case 'runs':
      return withQuery('/runs', place.query === '' ? [] : [['q', place.query]])
    case 'run': {
      const tab = place.tab === 'timeline' ? '' : `/${encodeURIComponent(place.tab)}`
      return withQuery(`/runs/${encodeURIComponent(place.runId)}${tab}`, [
        ...(place.at ? [['at', formatRef(place.at)] as const] : []),
        ...(place.range ? [['t', place.range.map(Math.round).join('..')] as const] : []),
        ...(place.seq === null ? [] : [['seq', String(place.seq)] as const]),
      ])
    }
    case 'inbox':
      return place.gateId === null ? '/inbox' : `/inbox/${encodeURIComponent(place.gateId)}`
    case 'metrics':
      return '/metrics'
    case 'unknown':
      return place.path
  }
}

export function formatRef({ kind, id }: TimelineRef): string {
  return `${kind}:${id}`
}

export function parseRef(text: string | null): TimelineRef | null {
  const [, kind, id] = /^([a-z]+):(.+)$/s.exec(text ?? '') ?? []
  const known = KINDS.find((candidate) => candidate === kind)
  return known === undefined || id === undefined ? null : { kind: known, id }
}

function parseRange(text: string | null): [number, number] | null {
  const [, from, to] = /^(\d{1,15})\.\.(\d{1,15})$/.exec(text ?? '') ?? []
  return from === undefined || to === undefined || Number(from) >= Number(to) ? null : [Number(from), Number(to)]
}

function parseSeq(text: string | null): number | null {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : null
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Colons and slashes stay readable; both are allowed in a query. */
function withQuery(path: string, entries: readonly (readonly [string, string])[]): string {
  const query = entries.map(
    ([key, value]) => `${key}=${encodeURIComponent(value).replace(/%3A/g, ':').replace(/%2F/g, '/')}`,
  )
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

/* The current place, as the address bar has it. */

let mode: 'path' | 'fragment' = 'path'
const listeners = new Set<() => void>()
let known: { address: string; place: Place } | undefined
/** A place that the address bar does not have yet: browsers ignore more than 200 changes of the address in 10 s, and a replay makes 60 a second. */
let unwritten: { href: string; place: Place } | undefined
let writeTimer: ReturnType<typeof setTimeout> | undefined
let writtenAt = Number.NEGATIVE_INFINITY
const WRITE_MS = 100

/** For a one-file export, whose path is a file on disk. */
export function setFragmentAddresses(): void {
  mode = 'fragment'
  window.addEventListener('hashchange', followAddress)
}

export function currentPlace(): Place {
  if (unwritten) return unwritten.place
  const { pathname, search, hash } = window.location
  const address = mode === 'path' ? pathname.slice(pagePath.length) + search : hash.slice(1) || '/'
  if (known?.address !== address) known = { address, place: parsePlace(address) }
  return known.place
}

/** What a link to the place has as its `href`. */
export function hrefOf(place: Place): string {
  return mode === 'path' ? pagePath + formatPlace(place) : `#${formatPlace(place)}`
}

/** Selection pushes history; zoom, pan and typing replace it. */
export function navigate(place: Place, { replace = false }: { replace?: boolean } = {}): void {
  const href = hrefOf(place)
  if (replace) {
    unwritten = { href, place }
    clearTimeout(writeTimer)
    const wait = writtenAt + WRITE_MS - performance.now()
    if (wait > 0) writeTimer = setTimeout(writeAddress, wait)
    else writeAddress()
  } else {
    writeAddress()
    if (formatPlace(place) !== formatPlace(currentPlace())) window.history.pushState(null, '', href)
  }
  notify()
}

function writeAddress(): void {
  if (!unwritten) return
  window.history.replaceState(null, '', unwritten.href)
  unwritten = undefined
  writtenAt = performance.now()
}

/** The reader went back or forward, or typed an address. */
function followAddress(): void {
  clearTimeout(writeTimer)
  unwritten = undefined
  notify()
}

export function useRoute(): Place {
  return useSyncExternalStore(subscribeToPlace, currentPlace)
}

function subscribeToPlace(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('popstate', followAddress)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('popstate', followAddress)
  }
}

function notify(): void {
  for (const listener of [...listeners]) listener()
}
