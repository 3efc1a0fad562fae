import { TroupeError } from '../errors.ts'

/** Environment variables by name. They are passed in, never read from the process. */
export type Environment = Readonly<Record<string, string | undefined>>

export type Protocol = 'anthropic' | 'openai-responses' | 'openai-chat' | 'google' | 'compatible'

/** A provider that is reached by its name alone. */
export interface Endpoint {
  provider: string
  protocol: Protocol
  /** Variables that may hold its key; the first is the one to name. */
  keys: readonly string[]
  /** Whether it answers without a key. */
  keyless: boolean
  /** Variables that may hold its address; the first is the one to name. */
  bases: readonly string[]
  address?: string
  /** What an address that ends without a version is completed with. */
  version: string
  /** Runs on the user's own machine and costs nothing. */
  local: boolean
}

function compatible(provider: string, changes: Partial<Endpoint>): Endpoint {
  const variable = provider.toUpperCase()
  return {
    provider,
    protocol: 'compatible',
    keys: [`${variable}_API_KEY`],
    keyless: true,
    bases: [`${variable}_BASE_URL`],
    version: 'v1',
    local: true,
    ...changes,
  }
}

const OPENAI = {
  keys: ['OPENAI_API_KEY'],
  keyless: false,
  bases: ['OPENAI_BASE_URL'],
  address: 'https://api.openai.com/v1',
  version: 'v1',
  local: false,
}

export const ENDPOINTS: readonly Endpoint[] = [
  {
    provider: 'anthropic',
    protocol: 'anthropic',
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    keyless: false,
    bases: ['ANTHROPIC_BASE_URL'],
    address: 'https://api.anthropic.com/v1',
    version: 'v1',
    local: false,
  },
  { provider: 'openai', protocol: 'openai-responses', ...OPENAI },
  { provider: 'openai-chat', protocol: 'openai-chat', ...OPENAI },
  {
    provider: 'google',
    protocol: 'google',
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    keyless: false,
    bases: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL', 'GEMINI_BASE_URL'],
    address: 'https://generativelanguage.googleapis.com/v1beta',
    version: 'v1beta',
    local: false,
  },
  compatible('openrouter', { keyless: false, local: false, address: 'https://openrouter.ai/api/v1' }),
  compatible('ollama', { bases: ['OLLAMA_HOST', 'OLLAMA_BASE_URL'], address: 'http://127.0.0.1:11434/v1' }),
  compatible('lmstudio', { address: 'http://127.0.0.1:1234/v1' }),
  compatible('llamacpp', { address: 'http://127.0.0.1:8080/v1' }),
  compatible('vllm', { address: 'http://127.0.0.1:8000/v1' }),
  compatible('compatible', {
    keys: ['TROUPE_COMPATIBLE_API_KEY'],
    bases: ['TROUPE_COMPATIBLE_BASE_URL'],
    local: false,
  }),
]

/** The first of these variables that is set to something, with its name. */
export function firstSet(
  env: Environment,
  variables: readonly string[],
): { variable: string; value: string } | undefined {
  for (const variable of variables) {
    const value = env[variable]?.trim()
    if (value) return { variable, value }
  }
  return undefined
}

/** Where a provider is reached. Other tools leave the version out of the same variables, so it is completed. */
export function addressOf(endpoint: Endpoint, env: Environment): string {
  const set = firstSet(env, endpoint.bases)
  if (!set) {
    if (endpoint.address) return endpoint.address
    throw new TroupeError('no_model', `nobody said where '${endpoint.provider}' is`, {
      hint: `set ${endpoint.bases[0]} to the address of an OpenAI-compatible server`,
    })
  }
  const url = parsed(endpoint, set)
  const path = url.pathname.replace(/\/+$/, '')
  const completes = endpoint.protocol === 'anthropic' || endpoint.protocol === 'google' || path === ''
  url.pathname = completes && !/\/v\d\w*$/.test(path) ? `${path}/${endpoint.version}` : path
  return url.href.replace(/\/$/, '')
}

/** `OLLAMA_HOST` is also what its server listens on: a bare host, a port, or every address at once. */
function parsed(endpoint: Endpoint, { variable, value }: { variable: string; value: string }): URL {
  const bare = variable === 'OLLAMA_HOST' && !/^https?:\/\//i.test(value)
  const text = bare ? `http://${value.startsWith(':') ? `127.0.0.1${value}` : value}` : value
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TroupeError('invalid_input', `${variable} is no address: '${value}'`, {
      blame: 'operator',
      hint: `write it like ${endpoint.address ?? 'http://127.0.0.1:8000/v1'}`,
    })
  }
  if (bare && url.port === '') url.port = '11434'
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  return url
}
