import { TroupeError } from '../../errors.ts'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import * as z from '../../schema/zod.ts'
import { htmlToText } from './html-to-text.ts'
import type { HttpSearchService } from './http-search-provider.ts'
import { createSearchProvider } from './http-search-provider.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from './ssrf-guard.ts'
import type { SearchProvider } from './web-search-tool.ts'

export interface SearchServiceOptions {
  key: string
  /** Overrides the address of the service. */
  baseUrl?: string
  addresses?: AddressPolicy
}

const MAX_RESULTS = 20

const braveResponse = z
  .object({
    type: z.literal('search'),
    web: z
      .object({ results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })) })
      .nullish(),
  })
  .transform(({ web }) =>
    (web?.results ?? []).map(({ title, url, description }) => ({
      title: stripHtml(title),
      url,
      snippet: stripHtml(description ?? ''),
    })),
  )

/** The Brave Search API. */
export function braveSearch({
  key,
  baseUrl = 'https://api.search.brave.com',
  addresses,
}: SearchServiceOptions): SearchProvider {
  const service: HttpSearchService = {
    name: 'brave',
    envVariable: 'BRAVE_API_KEY',
    baseUrl: new URL(baseUrl),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request(query, limit) {
      const params = new URLSearchParams({
        q: query,
        count: String(Math.min(limit, MAX_RESULTS)),
        text_decorations: 'false',
      })
      return { path: `res/v1/web/search?${params}`, headers: { 'x-subscription-token': key } }
    },
    responseSchema: braveResponse,
    isKeyRejected: ({ status, text }) => status === 401 || status === 403 || text.includes('SUBSCRIPTION_TOKEN'),
  }
  return createSearchProvider(service)
}

const contentResponse = z
  .object({
    results: z.array(z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() })),
  })
  .transform(({ results }) =>
    results.map(({ title, url, content }) => ({ title: title ?? url, url, snippet: content ?? '' })),
  )

/** The Tavily API. */
export function tavilySearch({
  key,
  baseUrl = 'https://api.tavily.com',
  addresses,
}: SearchServiceOptions): SearchProvider {
  return createSearchProvider({
    name: 'tavily',
    envVariable: 'TAVILY_API_KEY',
    baseUrl: new URL(baseUrl),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request: (query, limit) => ({
      path: 'search',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, max_results: Math.min(limit, MAX_RESULTS), search_depth: 'basic' }),
    }),
    responseSchema: contentResponse,
    isKeyRejected: ({ status }) => status === 401 || status === 403,
  })
}

/** A SearXNG instance. Private addresses are allowed (no SSRF): the operator configured the address. */
export function searxngSearch(address: string): SearchProvider {
  const baseUrl = URL.parse(address)
  if (!baseUrl || !/^https?:$/.test(baseUrl.protocol) || baseUrl.username !== '' || baseUrl.password !== '') {
    throw new TroupeError('invalid_input', 'SEARXNG_URL is not a valid http or https URL without credentials', {
      responsible: 'operator',
      hint: 'set it to a URL such as http://localhost:8080, without a user name or a password',
    })
  }
  return createSearchProvider({
    name: 'searxng',
    envVariable: 'SEARXNG_URL',
    baseUrl,
    addresses: { ...PUBLIC_ADDRESSES, isAllowed: () => true },
    request: (query) => ({ path: `search?${new URLSearchParams({ q: query, format: 'json' })}`, headers: {} }),
    responseSchema: contentResponse,
    // SearXNG has no API keys; it answers 403 when the JSON format is not enabled.
    isKeyRejected: () => false,
    forbiddenHint: 'enable the JSON format in settings.yml: search.formats: [html, json]',
  })
}

/** The first configured service: SearXNG, then Brave, then Tavily. */
export function selectSearchProvider(env: EnvironmentVariables): SearchProvider | undefined {
  const { SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY } = env
  if (SEARXNG_URL) return searxngSearch(SEARXNG_URL)
  if (BRAVE_API_KEY) return braveSearch({ key: BRAVE_API_KEY })
  if (TAVILY_API_KEY) return tavilySearch({ key: TAVILY_API_KEY })
  return undefined
}

/** Brave returns titles and snippets as HTML. */
function stripHtml(text: string): string {
  return /[<&]/.test(text) ? htmlToText(text, '').text.replaceAll(/\s+/g, ' ').trim() : text
}
