import { describe, expect, test } from 'vitest'
import { detectModels } from './detect.ts'

describe('what is configured', () => {
  test('MO49 each role uses the first provider with a key, and says why', () => {
    const { roles, found, missing } = detectModels({ OPENAI_API_KEY: 'k', GEMINI_API_KEY: 'k' })
    expect(found.map(({ provider, variable }) => [provider, variable])).toEqual([
      ['openai', 'OPENAI_API_KEY'],
      ['google', 'GEMINI_API_KEY'],
    ])
    for (const role of ['fast', 'general', 'reasoning'] as const) {
      expect(roles[role]?.model).toMatch(/^openai\//)
      expect(roles[role]?.why).toBe(`OPENAI_API_KEY is set, and this is the ${role} model of openai`)
    }
    expect(missing).toContainEqual(expect.objectContaining({ provider: 'anthropic', variable: 'ANTHROPIC_API_KEY' }))
    expect(missing).toContainEqual(expect.objectContaining({ provider: 'ollama', variable: 'OLLAMA_HOST' }))
  })

  test('MO50 what was named wins, the more exact first', () => {
    const env = {
      ANTHROPIC_API_KEY: 'k',
      TROUPE_MODEL: 'ollama/llama',
      TROUPE_MODEL_FAST: 'vllm/tiny, ollama/llama',
      TROUPE_MODEL_REASONING: ' ',
    }
    expect(detectModels(env).roles).toEqual({
      fast: { model: 'vllm/tiny, ollama/llama', why: 'TROUPE_MODEL_FAST says so' },
      general: { model: 'ollama/llama', why: 'TROUPE_MODEL says so' },
      reasoning: { model: 'ollama/llama', why: 'TROUPE_MODEL says so' },
    })
    const { roles } = detectModels(env, { model: 'a/b', reasoning: 'c/d' })
    expect(roles.fast?.model).toBe('vllm/tiny, ollama/llama')
    expect(roles.general).toEqual({ model: 'a/b', why: 'the configuration names it for everything' })
    expect(roles.reasoning?.model).toBe('c/d')
  })

  test('MO51 nothing configured gives no role, and a server of one’s own needs a model by name', () => {
    expect(detectModels({})).toMatchObject({ roles: {}, found: [] })
    const local = detectModels({ OLLAMA_HOST: '127.0.0.1' })
    expect(local.found).toEqual([
      { provider: 'ollama', variable: 'OLLAMA_HOST', why: 'OLLAMA_HOST says where ollama runs' },
    ])
    expect(local.roles).toEqual({})
    expect(detectModels({ TROUPE_COMPATIBLE_API_KEY: 'k' }).found).toEqual([])
  })
})
