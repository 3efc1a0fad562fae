import { z } from 'zod'
import type { Tool } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { accessDeniedError, operatorError } from '../tool-errors.ts'
import type { NetworkPolicy } from './fetch-page.ts'
import { isHostAllowed } from './ssrf-guard.ts'
import { networkDisabledError } from './web-fetch-tool.ts'

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

/** Whoever can search the web: the port that a search service is put behind. */
export interface SearchProvider {
  name: string
  /** The host that is asked, where it is one of the network's: it has to be allowed like any other. */
  host?: string
  search(request: SearchRequest): Promise<readonly SearchHit[]>
}

const SETUP_HINT = 'set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL; a program gives network.search'

const domains = z.array(z.string().min(1)).max(50).optional()

const input = z.object({
  query: z.string().min(2).max(500),
  allowed_domains: domains.describe('Only results from these.'),
  blocked_domains: domains.describe('No results from these.'),
  limit: z.number().int().min(1).max(50).optional().describe('How many results; 10 unless given.'),
})

/** Searches the web through the given service. Off until hosts are allowed. */
export function webSearchTool(network: NetworkPolicy | undefined, provider: SearchProvider | undefined): Tool {
  return defineTool<z.output<typeof input>>({
    name: 'WebSearch',
    description: 'Search the web. Returns titles, addresses and snippets; read a page with WebFetch.',
    category: 'perception',
    kind: 'read',
    input,
    timeout_ms: 60_000,
    subject: ({ query }) => query,
    async execute({ query, allowed_domains, blocked_domains = [], limit = 10 }, call) {
      if (!network) throw networkDisabledError()
      if (!provider) throw operatorError('no search service is configured', SETUP_HINT)
      if (provider.host !== undefined && !isHostAllowed(network.hosts, provider.host)) {
        throw accessDeniedError(
          `searches go to ${provider.host}, which is not allowed`,
          `whoever runs this has to allow it: --allow-host ${provider.host}`,
        )
      }
      const hits = await provider.search({ query, limit, signal: call.signal })
      const wanted = hits
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
      return { success: true, output: { query, provider: provider.name, results: wanted } }
    },
  })
}

function matchesDomain(names: readonly string[], host: string): boolean {
  return isHostAllowed(
    names.flatMap((name) => [name, `*.${name}`]),
    host,
  )
}

function truncate(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
