import type { EnvironmentVariables } from '../../kernel/world.ts'
import type { SearchProvider } from './web-search-tool.ts'

/**
 * The search provider that the environment configures with `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; pass it as
 * `network.search`.
 */
export async function searchProviderFromEnv(env: EnvironmentVariables): Promise<SearchProvider | undefined> {
  const { selectSearchProvider } = await import('./search-providers.ts')
  return selectSearchProvider(env)
}
