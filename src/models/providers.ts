import { didYouMean, nearest, TroupeError, unknownName } from '../errors.ts'
import type { Model } from '../kernel/model.ts'
import type { LanguageModel } from './ai-sdk.ts'
import { eventsOnly } from './answer-kind.ts'
import type { Endpoint, Environment } from './endpoints.ts'
import { addressOf, ENDPOINTS, firstSet } from './endpoints.ts'
import { factsOf, knownNames } from './known-models.ts'

export interface ProviderOptions {
  env: Environment
  fetch?: typeof globalThis.fetch
  now?: () => number
}

/** A model by `provider/model`. Its package is loaded now, not before. */
export async function providerModel(name: string, options: ProviderOptions): Promise<Model> {
  const { endpoint, id } = parseName(name)
  const { env, fetch = globalThis.fetch, now } = options
  const key = firstSet(env, endpoint.keys)
  if (!key && !endpoint.keyless) throw noKey(name, endpoint)
  const baseURL = addressOf(endpoint, env)
  const variables = variablesOf(endpoint, env)
  const secrets = key ? [key.value] : []
  const wire: Wire = { id, key, baseURL, fetch: eventsOnly(fetch, { name, variables, secrets }), endpoint }
  const [{ fromLanguageModel }, model] = await Promise.all([import('./ai-sdk.ts'), load(wire)])
  const limits = factsOf(endpoint.provider, id)
  return fromLanguageModel(model, { name, variables, secrets, ...(limits && { limits }), ...(now && { now }) })
}

/** `openrouter/anthropic/claude-…`: the provider ends at the first slash. */
export function parseName(name: string): { endpoint: Endpoint; id: string } {
  const slash = name.indexOf('/')
  if (slash <= 0 || slash === name.length - 1) {
    const alternatives = nearest(name, knownNames())
    throw new TroupeError('unknown_model', `no model '${name}'; models are named provider/model, or by role`, {
      alternatives,
      hint: didYouMean(name, alternatives),
    })
  }
  const provider = name.slice(0, slash)
  const endpoint = ENDPOINTS.find((candidate) => candidate.provider === provider)
  if (endpoint) return { endpoint, id: name.slice(slash + 1) }
  throw unknownName('unknown_model', 'provider', provider, providerNames())
}

export function providerNames(): string[] {
  return ENDPOINTS.map(({ provider }) => provider)
}

interface Wire {
  id: string
  key: { variable: string; value: string } | undefined
  baseURL: string
  fetch: typeof globalThis.fetch
  endpoint: Endpoint
}

// Key and address are always passed: left out, the packages would look for them in the process on their own.
async function load({ id, key, baseURL, fetch, endpoint }: Wire): Promise<LanguageModel> {
  const apiKey = key?.value ?? ''
  switch (endpoint.protocol) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      const auth = key?.variable === 'ANTHROPIC_AUTH_TOKEN' ? { authToken: apiKey } : { apiKey }
      return createAnthropic({ ...auth, baseURL, fetch })(id)
    }
    case 'openai-responses':
      return (await import('@ai-sdk/openai')).createOpenAI({ apiKey, baseURL, fetch }).responses(id)
    case 'openai-chat':
      return (await import('@ai-sdk/openai')).createOpenAI({ apiKey, baseURL, fetch }).chat(id)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle({ apiKey, baseURL, fetch })(id)
    case 'compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({
        name: endpoint.provider,
        baseURL,
        fetch,
        ...(key && { apiKey }),
        includeUsage: true,
        supportsStructuredOutputs: true,
      }).chatModel(id)
    }
  }
}

/** The variables in use, or those to use. */
function variablesOf({ keys, bases }: Endpoint, env: Environment): { key?: string; base?: string } {
  const key = firstSet(env, keys)?.variable ?? keys[0]
  const base = firstSet(env, bases)?.variable ?? bases[0]
  return { ...(key && { key }), ...(base && { base }) }
}

function noKey(name: string, { provider, keys }: Endpoint): TroupeError {
  const [first, ...others] = keys
  const or = others.length > 0 ? ` (or ${others.join(', ')})` : ''
  return new TroupeError('model_auth', `there is no key for ${name}`, {
    hint: `set ${first}${or} to a key of ${provider}`,
  })
}
