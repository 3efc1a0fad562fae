import { TroupeError } from '../../errors.ts'
import type * as z from '../../schema/zod.ts'
import { invalidCallError, operatorError } from '../tool-errors.ts'
import type { FetchedPage, FetchRequest } from './fetch-page.ts'
import { DEFAULT_FETCH_LIMITS, fetchUrl } from './fetch-page.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import type { SearchHit, SearchProvider } from './web-search-tool.ts'

/*
 * A `SearchProvider` over HTTP.
 * 1. Requests go through the SSRF-guarded fetch, only to the host of the service.
 * 2. No error contains the API key.
 */

export interface HttpSearchService {
  name: string
  /** The environment variable that configures the service. */
  envVariable: string
  baseUrl: URL
  addresses: AddressPolicy
  /** `path` is relative to `baseUrl`. */
  request(query: string, limit: number): Omit<FetchRequest, 'url'> & { path: string }
  responseSchema: z.ZodType<SearchHit[]>
  isKeyRejected(response: ServiceResponse): boolean
  /** Hint for status 403 when it is not about a key. */
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
  const parsed = service.responseSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw operatorError(
    `the search service ${service.name} returned an unexpected response`,
    `check that ${service.envVariable} belongs to ${service.baseUrl.origin}; continue without searching`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function statusError(service: HttpSearchService, response: ServiceResponse): TroupeError {
  const { name, envVariable } = service
  const { status, retry_after } = response
  const message = `the search service ${name} returned status ${status}`
  if (service.isKeyRejected(response)) {
    return operatorError(
      `${message}: it rejects the API key`,
      `the operator must check ${envVariable}; continue without searching`,
    )
  }
  if (status === 429) {
    const wait = /^\d{1,5}$/.test(retry_after ?? '') ? `${retry_after} seconds` : 'a while'
    return retryableError(`${message}: rate limit exceeded`, `try again in ${wait}, or continue without searching`)
  }
  if (status === 402 || status === 432 || status === 433) {
    return operatorError(
      `${message}: the quota is used up`,
      `the operator must check the plan of ${envVariable}; continue without searching`,
    )
  }
  if (status === 403) return operatorError(message, service.forbiddenHint ?? `the operator must check ${envVariable}`)
  if (status >= 500) return retryableError(message, 'try the `query` again later, or continue without searching')
  return invalidCallError(message, 'shorten `query`')
}

function unreachableError(service: HttpSearchService, thrown: unknown): TroupeError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  const { code } = thrown instanceof TroupeError ? thrown : { code: undefined }
  const message = `the search service ${service.name} is not reachable: ${reason}`
  if (code === 'denied')
    return new TroupeError('denied', message, { hint: `check ${service.envVariable}`, cause: thrown })
  return retryableError(
    message,
    `the operator must check ${service.envVariable} and that ${service.baseUrl.origin} is reachable; continue without searching`,
  )
}

function retryableError(message: string, hint: string): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'operator', retry: true })
}
