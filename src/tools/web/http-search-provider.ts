import type { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import { invalidCallError, operatorError } from '../tool-errors.ts'
import type { FetchedPage, FetchRequest } from './fetch-page.ts'
import { DEFAULT_FETCH_LIMITS, fetchUrl } from './fetch-page.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import type { SearchHit, SearchProvider } from './web-search-tool.ts'

/*
 * A search service behind the port.
 * 1. It is asked through the same guarded fetch as pages are, at its own host and no other.
 * 2. Whatever it answers, its key is in no error.
 */

export interface HttpSearchService {
  name: string
  /** What an operator sets to use it. */
  envVariable: string
  baseUrl: URL
  addresses: AddressPolicy
  /** `path` is below the address of the service. */
  request(query: string, limit: number): Omit<FetchRequest, 'url'> & { path: string }
  responseSchema: z.ZodType<SearchHit[]>
  isKeyRefused(answer: ServiceResponse): boolean
  /** What to do about a refusal, where it is not about a key. */
  forbiddenHint?: string
}

interface ServiceResponse extends Pick<FetchedPage, 'status' | 'retry_after'> {
  text: string
}

export function createSearchProvider(service: HttpSearchService): SearchProvider {
  const { name, baseUrl, addresses } = service
  const network = { hosts: [baseUrl.hostname], addresses, limits: { ...DEFAULT_FETCH_LIMITS, redirects: 2 } }
  return {
    name,
    host: baseUrl.hostname,
    async search({ query, limit, signal }) {
      const { path, ...request } = service.request(query, limit)
      const url = new URL(path, baseUrl.href.endsWith('/') ? baseUrl : `${baseUrl.href}/`).href
      const headers = { accept: 'application/json', ...request.headers }
      const page = await fetchUrl(network, { ...request, url, headers }, signal).catch((thrown: unknown) => {
        throw signal.aborted ? signal.reason : unreachableError(service, thrown)
      })
      const { status, retry_after } = page
      const text = page.body.toString('utf8')
      if (status !== 200) throw statusError(service, { status, text, ...(retry_after ? { retry_after } : undefined) })
      return parseHits(service, text)
    },
  }
}

function parseHits(service: HttpSearchService, text: string): SearchHit[] {
  const read = service.responseSchema.safeParse(parseJson(text))
  if (read.success) return read.data
  throw operatorError(
    `the search service ${service.name} answered with something that holds no results`,
    `look whether ${service.baseUrl.origin} is what ${service.envVariable} is for; go on without searching`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function statusError(service: HttpSearchService, answer: ServiceResponse): TroupeError {
  const { name, envVariable } = service
  const { status, retry_after } = answer
  const said = `the search service ${name} answered with status ${status}`
  if (service.isKeyRefused(answer)) {
    return operatorError(
      `${said}: it refuses the key`,
      `whoever runs this has to check ${envVariable}; go on without searching`,
    )
  }
  if (status === 429) {
    const wait = /^\d{1,5}$/.test(retry_after ?? '') ? `${retry_after} seconds` : 'a while'
    return retryableError(`${said}: too many searches for now`, `try again in ${wait}, or go on without`)
  }
  if (status === 402 || status === 432 || status === 433) {
    return operatorError(
      `${said}: what its plan allows is used up`,
      `whoever runs this has to look after the plan of ${envVariable}`,
    )
  }
  if (status === 403)
    return operatorError(said, service.forbiddenHint ?? `whoever runs this has to check ${envVariable}`)
  if (status >= 500) return retryableError(said, 'try again in a while, or go on without')
  return invalidCallError(said, 'put the query in fewer words')
}

function unreachableError(service: HttpSearchService, thrown: unknown): TroupeError {
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  const { code } = thrown instanceof TroupeError ? thrown : { code: undefined }
  const message = `the search service ${service.name} cannot be asked: ${why}`
  if (code === 'denied')
    return new TroupeError('denied', message, { hint: `check ${service.envVariable}`, cause: thrown })
  return retryableError(
    message,
    `look whether ${service.baseUrl.origin} can be reached from here; go on without searching`,
  )
}

function retryableError(message: string, hint: string): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'operator', retry: true })
}
