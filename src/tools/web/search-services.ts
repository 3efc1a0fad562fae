import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { AddressBook } from './addresses.ts'
import { PUBLIC_ADDRESSES } from './addresses.ts'
import { readableText } from './readable.ts'
import type { SearchService } from './search-service.ts'
import { providerOf } from './search-service.ts'
import type { SearchProvider } from './web-search.ts'

/** Which search services there are, and how each is asked. */

export interface ServiceOptions {
  key: string
  /** Another address of the service, instead of its own. */
  at?: string
  addresses?: AddressBook
}

const MOST = 20

const braveAnswer = z
  .object({
    type: z.literal('search'),
    web: z
      .object({ results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })) })
      .nullish(),
  })
  .transform(({ web }) =>
    (web?.results ?? []).map(({ title, url, description }) => ({
      title: fromHtml(title),
      url,
      snippet: fromHtml(description ?? ''),
    })),
  )

/** Brave's own index of the web. */
export function braveSearch({ key, at = 'https://api.search.brave.com', addresses }: ServiceOptions): SearchProvider {
  const service: SearchService = {
    name: 'brave',
    variable: 'BRAVE_API_KEY',
    at: new URL(at),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request(query, limit) {
      const words = new URLSearchParams({ q: query, count: String(Math.min(limit, MOST)), text_decorations: 'false' })
      return { path: `res/v1/web/search?${words}`, headers: { 'x-subscription-token': key } }
    },
    answer: braveAnswer,
    isKeyRefused: ({ status, text }) => status === 401 || status === 403 || text.includes('SUBSCRIPTION_TOKEN'),
  }
  return providerOf(service)
}

const contentAnswer = z
  .object({
    results: z.array(z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() })),
  })
  .transform(({ results }) =>
    results.map(({ title, url, content }) => ({ title: title ?? url, url, snippet: content ?? '' })),
  )

/** Tavily, made for agents. */
export function tavilySearch({ key, at = 'https://api.tavily.com', addresses }: ServiceOptions): SearchProvider {
  return providerOf({
    name: 'tavily',
    variable: 'TAVILY_API_KEY',
    at: new URL(at),
    addresses: addresses ?? PUBLIC_ADDRESSES,
    request: (query, limit) => ({
      path: 'search',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, max_results: Math.min(limit, MOST), search_depth: 'basic' }),
    }),
    answer: contentAnswer,
    isKeyRefused: ({ status }) => status === 401 || status === 403,
  })
}

/** An instance of SearXNG, which may well be on this machine: whoever runs it has named its address. */
export function searxngSearch(address: string): SearchProvider {
  const at = URL.parse(address)
  if (!at || !/^https?:$/.test(at.protocol) || at.username !== '' || at.password !== '') {
    throw new TroupeError('invalid_input', 'SEARXNG_URL is no address that can be searched at', {
      blame: 'operator',
      hint: 'such as http://localhost:8080, without a user name or a password',
    })
  }
  return providerOf({
    name: 'searxng',
    variable: 'SEARXNG_URL',
    at,
    addresses: { ...PUBLIC_ADDRESSES, isAllowed: () => true },
    request: (query) => ({ path: `search?${new URLSearchParams({ q: query, format: 'json' })}`, headers: {} }),
    answer: contentAnswer,
    // It has no keys; it refuses what is not among its formats.
    isKeyRefused: () => false,
    refusal: 'let it answer in JSON: settings.yml, search, formats, json',
  })
}

/** The service that the environment is set up for: an instance of one's own first, then Brave, then Tavily. */
export function searchServiceOf(env: Readonly<Record<string, string | undefined>>): SearchProvider | undefined {
  const { SEARXNG_URL, BRAVE_API_KEY, TAVILY_API_KEY } = env
  if (SEARXNG_URL) return searxngSearch(SEARXNG_URL)
  if (BRAVE_API_KEY) return braveSearch({ key: BRAVE_API_KEY })
  if (TAVILY_API_KEY) return tavilySearch({ key: TAVILY_API_KEY })
  return undefined
}

/** Brave marks up and escapes what it found. */
function fromHtml(text: string): string {
  return /[<&]/.test(text) ? readableText(text, '').text.replaceAll(/\s+/g, ' ').trim() : text
}
