import type { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import { mistaken, unable } from '../complaint.ts'
import type { AddressBook } from './addresses.ts'
import type { Fetched, PageRequest } from './fetch.ts'
import { FETCH_LIMITS, fetchFrom } from './fetch.ts'
import type { SearchHit, SearchProvider } from './web-search.ts'

/*
 * A search service behind the port.
 * 1. It is asked through the same guarded fetch as pages are, at its own host and no other.
 * 2. Whatever it answers, its key is in no error.
 */

export interface SearchService {
  name: string
  /** What an operator sets to use it. */
  variable: string
  at: URL
  addresses: AddressBook
  /** `path` is below the address of the service. */
  request(query: string, limit: number): Omit<PageRequest, 'url'> & { path: string }
  answer: z.ZodType<SearchHit[]>
  isKeyRefused(answer: Answered): boolean
  /** What to do about a refusal, where it is not about a key. */
  refusal?: string
}

interface Answered extends Pick<Fetched, 'status' | 'retry_after'> {
  text: string
}

export function providerOf(service: SearchService): SearchProvider {
  const { name, at, addresses } = service
  const network = { hosts: [at.hostname], addresses, limits: { ...FETCH_LIMITS, redirects: 2 } }
  return {
    name,
    host: at.hostname,
    async search({ query, limit, signal }) {
      const { path, ...request } = service.request(query, limit)
      const url = new URL(path, at.href.endsWith('/') ? at : `${at.href}/`).href
      const headers = { accept: 'application/json', ...request.headers }
      const page = await fetchFrom(network, { ...request, url, headers }, signal).catch((thrown: unknown) => {
        throw signal.aborted ? signal.reason : unreachable(service, thrown)
      })
      const { status, retry_after } = page
      const text = page.body.toString('utf8')
      if (status !== 200) throw failure(service, { status, text, ...(retry_after ? { retry_after } : undefined) })
      return hitsIn(service, text)
    },
  }
}

function hitsIn(service: SearchService, text: string): SearchHit[] {
  const read = service.answer.safeParse(parsed(text))
  if (read.success) return read.data
  throw unable(
    `the search service ${service.name} answered with something that holds no results`,
    `look whether ${service.at.origin} is what ${service.variable} is for; go on without searching`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function failure(service: SearchService, answer: Answered): TroupeError {
  const { name, variable } = service
  const { status, retry_after } = answer
  const said = `the search service ${name} answered with status ${status}`
  if (service.isKeyRefused(answer)) {
    return unable(`${said}: it refuses the key`, `whoever runs this has to check ${variable}; go on without searching`)
  }
  if (status === 429) {
    const wait = /^\d{1,5}$/.test(retry_after ?? '') ? `${retry_after} seconds` : 'a while'
    return later(`${said}: too many searches for now`, `try again in ${wait}, or go on without`)
  }
  if (status === 402 || status === 432 || status === 433) {
    return unable(
      `${said}: what its plan allows is used up`,
      `whoever runs this has to look after the plan of ${variable}`,
    )
  }
  if (status === 403) return unable(said, service.refusal ?? `whoever runs this has to check ${variable}`)
  if (status >= 500) return later(said, 'try again in a while, or go on without')
  return mistaken(said, 'put the query in fewer words')
}

function unreachable(service: SearchService, thrown: unknown): TroupeError {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const { code } = thrown instanceof TroupeError ? thrown : { code: undefined }
  const message = `the search service ${service.name} cannot be asked: ${why}`
  if (code === 'denied') return new TroupeError('denied', message, { hint: `check ${service.variable}`, cause: thrown })
  return later(message, `look whether ${service.at.origin} can be reached from here; go on without searching`)
}

function later(message: string, hint: string): TroupeError {
  return new TroupeError('tool_failed', message, { hint, blame: 'operator', retry: true })
}
