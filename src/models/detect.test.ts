import { describe, expect, test } from 'vitest'
import { detectModels } from './detect.ts'

describe('detected models', () => {
  test('MO49 each role uses the first provider with a key, with the reason', () => {
    const { roles, found, missing } = detectModels({ OPENAI_API_KEY: 'k', GEMINI_API_KEY: 'k' })
    expect(found.map(({ provider, variable }) => [provider, variable])).toEqual([
      ['openai', 'OPENAI_API_KEY'],
      ['google', 'GEMINI_API_KEY'],
    ])
    for (const role of ['fast', 'general', 'reasoning'] as const) {
      expect(roles[role]?.model).toMatch(/^openai\//)
      expect(roles[role]?.reason).toBe(`default ${role} model of openai (OPENAI_API_KEY is set)`)
    }
    expect(missing).toContainEqual(expect.objectContaining({ provider: 'anthropic', variable: 'ANTHROPIC_API_KEY' }))
    expect(missing).toContainEqual(expect.objectContaining({ provider: 'ollama', variable: 'OLLAMA_HOST' }))
  })

  test('MO50 a configured model wins: config by role, variable by role, config, variable', () => {
    const env = {
      ANTHROPIC_API_KEY: 'k',
      TROUPE_MODEL: 'ollama/llama',
      TROUPE_MODEL_FAST: 'vllm/tiny, ollama/llama',
      TROUPE_MODEL_REASONING: ' ',
    }
    expect(detectModels(env).roles).toEqual({
      fast: { model: 'vllm/tiny, ollama/llama', reason: 'set by TROUPE_MODEL_FAST' },
      general: { model: 'ollama/llama', reason: 'set by TROUPE_MODEL' },
      reasoning: { model: 'ollama/llama', reason: 'set by TROUPE_MODEL' },
    })
    const { roles } = detectModels(env, { model: 'a/b', reasoning: 'c/d' })
    expect(roles.fast?.model).toBe('vllm/tiny, ollama/llama')
    expect(roles.general).toEqual({ model: 'a/b', reason: 'configured for all roles' })
    expect(roles.reasoning?.model).toBe('c/d')
  })

  test('MO51 without configuration no role has a model, and a local server needs a model name', () => {
    expect(detectModels({})).toMatchObject({ roles: {}, found: [] })
    const local = detectModels({ OLLAMA_HOST: '127.0.0.1' })
    expect(local.found).toEqual([{ provider: 'ollama', variable: 'OLLAMA_HOST', reason: 'OLLAMA_HOST is set' }])
    expect(local.roles).toEqual({})
    expect(detectModels({ TROUPE_COMPATIBLE_API_KEY: 'k' }).found).toEqual([])
  })
})
