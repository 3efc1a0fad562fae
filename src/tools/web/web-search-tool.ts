import type { Tool } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { accessDeniedError, operatorError } from '../tool-errors.ts'
import type { NetworkPolicy } from './fetch-page.ts'
import { isHostAllowed } from './ssrf-guard.ts'
import { NETWORK_DISABLED, networkDisabledError } from './web-fetch-tool.ts'

export interface SearchHit {
  title: string
  url: string
  snippet: string
}

export interface SearchRequest {
  query: string
  limit: number
  signal: AbortSignal
}

/** The port for web search services. */
export interface SearchProvider {
  name: string
  /** The host that queries are sent to; it must be in `network.hosts`. */
  host?: string
  search(request: SearchRequest): Promise<readonly SearchHit[]>
}

const SETUP_HINT = 'set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL, or pass `network.search`'

const domains = z.array(z.string().min(1)).max(50).optional()

const input = z.object({
  query: z.string().min(2).max(500),
  allowed_domains: domains,
  blocked_domains: domains,
  limit: z.number().int().min(1).max(50).optional().describe('Default: 10.'),
})

/** The `WebSearch` tool. Disabled until `network.hosts` allows the host of the search provider. */
export function webSearchTool(network: NetworkPolicy | undefined, provider: SearchProvider | undefined): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'WebSearch',
    description: 'Search the web. Returns titles, URLs and snippets; read a page with WebFetch.',
    category: 'perception',
    kind: 'read',
    input,
    unavailable: () => unavailableReason(network, provider),
    timeout_ms: 60_000,
    subject: ({ query }) => query,
    async execute({ query, allowed_domains, blocked_domains = [], limit = 10 }, call) {
      if (!network) throw networkDisabledError()
      if (!provider) throw operatorError('no search provider is configured', SETUP_HINT)
      if (provider.host !== undefined && !isHostAllowed(network.hosts, provider.host)) {
        throw accessDeniedError(
          `the host of the search provider, ${provider.host}, is not allowed`,
          `the operator can allow it with --allow-host ${provider.host}`,
        )
      }
      const hits = await provider.search({ query, limit, signal: call.signal })
      const results = hits
        .filter(({ url }) => {
          const host = URL.parse(url)?.hostname
          if (host === undefined || matchesDomain(blocked_domains, host)) return false
          return allowed_domains === undefined || matchesDomain(allowed_domains, host)
        })
        .slice(0, limit)
        .map(({ title, url, snippet }) => ({
          title: truncate(title, 300),
          url: truncate(url, 2000),
          snippet: truncate(snippet, 1000),
        }))
      return { success: true, output: { query, provider: provider.name, results } }
    },
  })
}

function unavailableReason(
  network: NetworkPolicy | undefined,
  provider: SearchProvider | undefined,
): string | undefined {
  if (!network) return NETWORK_DISABLED
  if (!provider) return `no search provider is configured; the operator can ${SETUP_HINT}`
  if (provider.host === undefined || isHostAllowed(network.hosts, provider.host)) return undefined
  return `the host of the search provider is not allowed; the operator can allow it with --allow-host ${provider.host}`
}

function matchesDomain(names: readonly string[], host: string): boolean {
  return isHostAllowed(
    names.flatMap((name) => [name, `*.${name}`]),
    host,
  )
}

function truncate(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
