import type { EnvironmentVariables } from '../../kernel/world.ts'
import type { SearchProvider } from './web-search-tool.ts'

/**
 * The search service that the environment is set up for, by `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`: for
 * `network.search` of a workspace.
 */
export async function searchProviderFromEnv(env: EnvironmentVariables): Promise<SearchProvider | undefined> {
  const { selectSearchProvider } = await import('./search-providers.ts')
  return selectSearchProvider(env)
}
