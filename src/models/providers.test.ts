import { describe, expect, test } from 'vitest'
import type { EnvironmentVariables } from '../kernel/world.ts'
import { ENDPOINTS, resolveBaseUrl } from './endpoints.ts'
import { loadProviderModel, parseModelName, providerNames } from './providers.ts'

describe('models by name', () => {
  test('MO27 the provider name ends at the first slash, and the limits of common models are known', async () => {
    expect(parseModelName('openrouter/anthropic/claude-x').id).toBe('anthropic/claude-x')
    const env = { ANTHROPIC_API_KEY: 'k' }
    const haiku = await loadProviderModel('anthropic/claude-haiku-4-5', { env })
    expect(haiku).toMatchObject({ name: 'anthropic/claude-haiku-4-5', limits: { context: 200_000, output: 64_000 } })
    const dated = await loadProviderModel('anthropic/claude-haiku-4-5-20251001', { env })
    expect(dated.limits).toEqual(haiku.limits)
    const listed = await loadProviderModel('anthropic/claude-3-haiku', { env })
    expect(listed.limits).toEqual({ context: 200_000 })
    expect(await loadProviderModel('anthropic/claude-next', { env })).not.toHaveProperty('limits')
  })

  test('MO28 every provider loads, and local servers need no key', async () => {
    const keys = Object.fromEntries(
      ENDPOINTS.filter(({ keyOptional }) => !keyOptional).map(({ keyVariables: [key] }) => [key, 'k']),
    )
    const env = { ...keys, TROUPE_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9/v1' }
    for (const provider of providerNames()) {
      expect((await loadProviderModel(`${provider}/some-model`, { env })).name).toBe(`${provider}/some-model`)
    }
  })

  test('MO29 an unknown provider or model lists the known ones; a missing key names its variable', async () => {
    await expect(loadProviderModel('antropic/claude', { env: {} })).rejects.toMatchObject({
      code: 'unknown_model',
      alternatives: expect.objectContaining({ 0: 'anthropic', length: ENDPOINTS.length }),
    })
    await expect(loadProviderModel('claude-haiku', { env: {} })).rejects.toMatchObject({
      code: 'unknown_model',
      hint: expect.stringContaining('claude-haiku-'),
    })
    for (const [name, variable] of [
      ['anthropic/x', 'ANTHROPIC_API_KEY'],
      ['openai-chat/x', 'OPENAI_API_KEY'],
      ['google/x', 'GOOGLE_GENERATIVE_AI_API_KEY'],
      ['openrouter/x', 'OPENROUTER_API_KEY'],
    ] as const) {
      const failing = loadProviderModel(name, { env: { [variable]: '  ' } })
      await expect(failing).rejects.toMatchObject({
        code: 'model_auth',
        hint: expect.stringContaining(`set ${variable}`),
      })
    }
    const withoutBaseUrl = loadProviderModel('compatible/x', { env: {} })
    await expect(withoutBaseUrl).rejects.toMatchObject({ hint: expect.stringContaining('TROUPE_COMPATIBLE_BASE_URL') })
  })

  test('MO48 base URLs come from the usual variables, and a missing API version is appended', () => {
    const baseUrl = (provider: string, env: EnvironmentVariables) =>
      resolveBaseUrl(parseModelName(`${provider}/m`).endpoint, env)
    expect(baseUrl('anthropic', {})).toBe('https://api.anthropic.com/v1')
    expect(baseUrl('anthropic', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/proxy/' })).toBe(
      'http://127.0.0.1:1/proxy/v1',
    )
    expect(baseUrl('anthropic', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/v1' })).toBe('http://127.0.0.1:1/v1')
    expect(baseUrl('openai', { OPENAI_BASE_URL: 'http://127.0.0.1:1' })).toBe('http://127.0.0.1:1/v1')
    expect(baseUrl('openai', { OPENAI_BASE_URL: 'http://127.0.0.1:1/azure' })).toBe('http://127.0.0.1:1/azure')
    expect(baseUrl('google', { GEMINI_BASE_URL: 'http://127.0.0.1:1' })).toBe('http://127.0.0.1:1/v1beta')
    expect(baseUrl('ollama', {})).toBe('http://127.0.0.1:11434/v1')
    expect(baseUrl('ollama', { OLLAMA_HOST: '0.0.0.0' })).toBe('http://127.0.0.1:11434/v1')
    expect(baseUrl('ollama', { OLLAMA_HOST: ':9999' })).toBe('http://127.0.0.1:9999/v1')
    expect(baseUrl('ollama', { OLLAMA_HOST: 'box:1234' })).toBe('http://box:1234/v1')
    expect(baseUrl('ollama', { OLLAMA_HOST: 'https://box' })).toBe('https://box/v1')
    expect(() => baseUrl('vllm', { VLLM_BASE_URL: 'nowhere' })).toThrow(
      "VLLM_BASE_URL is not an http(s) URL: 'nowhere'",
    )
  })
})
