import { TroupeError } from '../errors.ts'
import type { EnvironmentVariables } from '../kernel/world.ts'

export type Protocol = 'anthropic' | 'openai-responses' | 'openai-chat' | 'google' | 'compatible'

/** A provider with a known protocol, base URL and environment variables. */
export interface Endpoint {
  provider: string
  protocol: Protocol
  /** Variables that may hold the API key; error hints name the first. */
  keyVariables: readonly string[]
  /** True when the server accepts requests without a key. */
  keyOptional: boolean
  /** Variables that may hold the base URL; error hints name the first. */
  baseUrlVariables: readonly string[]
  baseUrl?: string
  /** Version segment appended to a base URL without one. */
  apiVersion: string
  /** True when it runs on the user's own machine and is free. */
  local: boolean
}

/** A hosted provider that needs a key; other values are the exception. */
function hosted(provider: string, protocol: Protocol, changes: Partial<Endpoint> = {}): Endpoint {
  const variable = provider.toUpperCase()
  return {
    ...{ provider, protocol, keyVariables: [`${variable}_API_KEY`], keyOptional: false },
    ...{ baseUrlVariables: [`${variable}_BASE_URL`], apiVersion: 'v1', local: false },
    ...changes,
  }
}

/** A server on the user's own machine. */
function onThisMachine(provider: string, port: number, changes: Partial<Endpoint> = {}): Endpoint {
  const baseUrl = `http://127.0.0.1:${port}/v1`
  return hosted(provider, 'compatible', { keyOptional: true, local: true, baseUrl, ...changes })
}

const OPENAI = hosted('openai', 'openai-responses', { baseUrl: 'https://api.openai.com/v1' })

export const ENDPOINTS: readonly Endpoint[] = [
  hosted('anthropic', 'anthropic', {
    keyVariables: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    baseUrl: 'https://api.anthropic.com/v1',
  }),
  OPENAI,
  { ...OPENAI, provider: 'openai-chat', protocol: 'openai-chat' },
  hosted('google', 'google', {
    keyVariables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlVariables: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_BASE_URL'],
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    apiVersion: 'v1beta',
  }),
  hosted('openrouter', 'compatible', { baseUrl: 'https://openrouter.ai/api/v1' }),
  onThisMachine('ollama', 11434, { baseUrlVariables: ['OLLAMA_HOST', 'OLLAMA_BASE_URL'] }),
  onThisMachine('lmstudio', 1234),
  onThisMachine('llamacpp', 8080),
  onThisMachine('vllm', 8000),
  hosted('compatible', 'compatible', {
    keyVariables: ['TROUPE_COMPATIBLE_API_KEY'],
    keyOptional: true,
    baseUrlVariables: ['TROUPE_COMPATIBLE_BASE_URL'],
  }),
]

/** The part of a model name before the first `/` or `:`, as in `ollama/llama3` and `scripted:FILE`. */
export function providerName(model: string): string {
  return model.split(/[/:]/, 1)[0] ?? model
}

/** The first of these variables with a non-blank value. */
export function firstSetVariable(
  env: EnvironmentVariables,
  variables: readonly string[],
): { variable: string; value: string } | undefined {
  for (const variable of variables) {
    const value = env[variable]?.trim()
    if (value) return { variable, value }
  }
  return undefined
}

/** Base URL of a provider. A missing API version is appended, because other tools set the same variables without it. */
export function resolveBaseUrl(endpoint: Endpoint, env: EnvironmentVariables): string {
  const set = firstSetVariable(env, endpoint.baseUrlVariables)
  if (!set) {
    if (endpoint.baseUrl) return endpoint.baseUrl
    throw new TroupeError('no_model', `no base URL is configured for the provider '${endpoint.provider}'`, {
      hint: `set ${endpoint.baseUrlVariables[0]} to the base URL of an OpenAI-compatible server`,
    })
  }
  const url = parseBaseUrl(endpoint, set)
  const path = url.pathname.replace(/\/+$/, '')
  const needsVersion = endpoint.protocol === 'anthropic' || endpoint.protocol === 'google' || path === ''
  url.pathname = needsVersion && !/\/v\d\w*$/.test(path) ? `${path}/${endpoint.apiVersion}` : path
  return url.href.replace(/\/$/, '')
}

/** `OLLAMA_HOST` also configures the server's listen address: a bare host, a port, or `0.0.0.0`. */
function parseBaseUrl(endpoint: Endpoint, { variable, value }: { variable: string; value: string }): URL {
  const bare = variable === 'OLLAMA_HOST' && !/^https?:\/\//i.test(value)
  const text = bare ? `http://${value.startsWith(':') ? `127.0.0.1${value}` : value}` : value
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TroupeError('invalid_input', `${variable} is not an http(s) URL: '${value}'`, {
      responsible: 'operator',
      hint: `set ${variable} to a URL such as ${endpoint.baseUrl ?? 'http://127.0.0.1:8000/v1'}`,
    })
  }
  if (bare && url.port === '') url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return url
}
