import type { SearchProvider } from './web-search.ts'

/**
 * The search service that the environment is set up for, by `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`: for
 * `network.search` of a workspace.
 */
export async function searchService(
  env: Readonly<Record<string, string | undefined>>,
): Promise<SearchProvider | undefined> {
  const { searchServiceOf } = await import('./search-services.ts')
  return searchServiceOf(env)
}
