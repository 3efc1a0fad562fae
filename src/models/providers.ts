import { didYouMean, nearestNames, TroupeError, unknownNameError } from '../errors.ts'
import type { Model } from '../kernel/model.ts'
import type { EnvironmentVariables } from '../kernel/world.ts'
import { endAtDone } from './end-of-stream.ts'
import type { Endpoint } from './endpoints.ts'
import { ENDPOINTS, firstSetVariable, resolveBaseUrl } from './endpoints.ts'
import { requireEventStream } from './event-stream-guard.ts'
import { knownModelNames } from './known-models.ts'
import type { LanguageModel } from './language-model.ts'
import { knownLimits } from './pricing.ts'
import { observeFetch } from './transport.ts'

export interface ProviderModelOptions {
  env: EnvironmentVariables
  fetch?: typeof globalThis.fetch
  now?: () => number
}

/** Loads a model by `provider/model`, importing the provider package on demand. */
export async function loadProviderModel(name: string, options: ProviderModelOptions): Promise<Model> {
  const { endpoint, id } = parseModelName(name)
  const { env, now } = options
  const key = firstSetVariable(env, endpoint.keyVariables)
  if (!key && !endpoint.keyOptional) throw missingKeyError(name, endpoint)
  const baseURL = resolveBaseUrl(endpoint, env)
  const variables = variableNames(endpoint, env)
  const secrets = key ? [key.value] : []
  const sent = options.fetch ?? globalThis.fetch
  const wire = env.TROUPE_WIRE
  const fetch = observeFetch(
    wire ? (await import('./wire-log.ts')).recordWire(sent, wire, { env, keys: secrets }) : sent,
  )
  const connection: ProviderConnection = {
    id,
    key,
    baseURL,
    fetch: requireEventStream(isChatProtocol(endpoint) ? endAtDone(fetch) : fetch, { name, variables, secrets }),
    endpoint,
  }
  const [{ fromLanguageModel }, model, limits] = await Promise.all([
    import('./ai-sdk.ts'),
    loadLanguageModel(connection),
    knownLimits(name),
  ])
  return fromLanguageModel(model, {
    name,
    variables,
    secrets,
    reportsSend: true,
    ...(limits && { limits }),
    ...(now && { now }),
  })
}

function isChatProtocol({ protocol }: Endpoint): boolean {
  return protocol === 'openai-chat' || protocol === 'compatible'
}

/** Splits `provider/model` at the first slash: model ids may contain slashes, as in `openrouter/anthropic/claude-…`. */
export function parseModelName(name: string): { endpoint: Endpoint; id: string } {
  const slash = name.indexOf('/')
  if (slash <= 0 || slash === name.length - 1) {
    const alternatives = nearestNames(name, knownModelNames())
    throw new TroupeError('unknown_model', `no model '${name}'; use provider/model, or a role`, {
      alternatives,
      hint: didYouMean(name, alternatives),
    })
  }
  const provider = name.slice(0, slash)
  const endpoint = ENDPOINTS.find((candidate) => candidate.provider === provider)
  if (endpoint) return { endpoint, id: name.slice(slash + 1) }
  throw unknownNameError('unknown_model', { kind: 'provider', name: provider, known: providerNames() })
}

export function providerNames(): string[] {
  return ENDPOINTS.map(({ provider }) => provider)
}

interface ProviderConnection {
  id: string
  key: { variable: string; value: string } | undefined
  baseURL: string
  fetch: typeof globalThis.fetch
  endpoint: Endpoint
}

// Key and base URL are always passed; otherwise the packages would read them from `process.env`.
async function loadLanguageModel({ id, key, baseURL, fetch, endpoint }: ProviderConnection): Promise<LanguageModel> {
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

/** The variables that hold key and base URL, or the first candidates if none is set. */
function variableNames(
  { keyVariables, baseUrlVariables }: Endpoint,
  env: EnvironmentVariables,
): { key?: string; base?: string } {
  const key = firstSetVariable(env, keyVariables)?.variable ?? keyVariables[0]
  const base = firstSetVariable(env, baseUrlVariables)?.variable ?? baseUrlVariables[0]
  return { ...(key && { key }), ...(base && { base }) }
}

function missingKeyError(name: string, { provider, keyVariables }: Endpoint): TroupeError {
  const [variable, ...others] = keyVariables
  const alternatives = others.length > 0 ? ` (or ${others.join(', ')})` : ''
  return new TroupeError('model_auth', `no API key for ${name}`, {
    hint: `set ${variable}${alternatives} to an API key of ${provider}`,
  })
}
