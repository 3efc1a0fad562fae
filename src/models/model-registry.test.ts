import { describe, expect, test } from 'vitest'
import type { Model } from '../kernel/model.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { createModelRegistry } from './model-registry.ts'
import { scriptedModel } from './scripted.ts'

const customModel = (name: string): Model => scriptedModel({ rules: [] }, { name })
const world = simulatedWorld(1)

describe('models by name', () => {
  test('MO52 lists and roles resolve to models; fallbacks are those after the first, each once', async () => {
    const env = {
      ANTHROPIC_API_KEY: 'k',
      TROUPE_MODEL_FAST: 'ollama/tiny, general',
      TROUPE_MODEL_GENERAL: 'ollama/big',
    }
    const models = createModelRegistry({ world, env })
    expect((await models.resolve('ollama/a , ollama/b, ollama/a')).name).toBe('ollama/a')
    expect(models.fallbacks('ollama/a , ollama/b, ollama/a')).toEqual(['ollama/b'])
    expect((await models.resolve('fast')).name).toBe('ollama/tiny')
    expect(models.fallbacks('fast')).toEqual(['ollama/big'])
    expect((await models.resolve('reasoning')).name).toMatch(/^anthropic\//)
    expect((await models.resolve(undefined)).name).toBe('ollama/big')
    expect(models.fallbacks('ollama/b')).toEqual([])
    expect(models.detected.roles.general?.reason).toBe('set by TROUPE_MODEL_GENERAL')
  })

  test('MO74 a model id without a provider resolves when exactly one configured provider has it', async () => {
    const anthropic = createModelRegistry({ world, env: { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' } })
    expect((await anthropic.resolve('claude-sonnet-4-5')).name).toBe('anthropic/claude-sonnet-4-5')
    expect((await anthropic.resolve('claude-sonnet-4-5-20250929')).name).toBe('anthropic/claude-sonnet-4-5-20250929')
    expect(anthropic.fallbacks('gpt-5, claude-haiku-4-5')).toEqual(['anthropic/claude-haiku-4-5'])
    const local = createModelRegistry({ world, env: { TROUPE_MODEL: 'ollama/tiny' } })
    expect((await local.resolve('tiny')).name).toBe('ollama/tiny')
    const custom = createModelRegistry({ world, customModels: new Map([['acme/tiny', customModel('acme/tiny')]]) })
    expect((await custom.resolve('tiny')).name).toBe('acme/tiny')
    const role = createModelRegistry({ world, env: { ANTHROPIC_API_KEY: 'k', TROUPE_MODEL: 'claude-haiku-4-5' } })
    expect((await role.resolve('fast')).name).toBe('anthropic/claude-haiku-4-5')
    expect(role.detected.roles.fast?.model).toBe('anthropic/claude-haiku-4-5')
  })

  test('MO74 an ambiguous id names the candidates, and one of a provider without a key says so', () => {
    const env = { ANTHROPIC_API_KEY: 'k' }
    const two = createModelRegistry({
      world,
      env,
      customModels: new Map([['proxy/claude-sonnet-4-5', customModel('proxy/claude-sonnet-4-5')]]),
    })
    expect(() => two.resolve('claude-sonnet-4-5')).toThrow(
      "the model 'claude-sonnet-4-5' is ambiguous: proxy/claude-sonnet-4-5, anthropic/claude-sonnet-4-5",
    )
    expect(() => createModelRegistry({ world, env: {} }).resolve('claude-sonnet-4-5')).toThrow(
      "no configured provider has the model 'claude-sonnet-4-5'; known: anthropic/claude-sonnet-4-5",
    )
  })

  test('MO53 Claude family names resolve to roles', async () => {
    const env = { TROUPE_MODEL_FAST: 'ollama/s', TROUPE_MODEL_GENERAL: 'ollama/m', TROUPE_MODEL_REASONING: 'ollama/l' }
    const models = createModelRegistry({ world, env })
    const names = await Promise.all(['haiku', 'Sonnet', 'opus', 'fable'].map((name) => models.resolve(name)))
    expect(names.map(({ name }) => name)).toEqual(['ollama/s', 'ollama/m', 'ollama/l', 'ollama/l'])
  })

  test('CO89 provider/role is the default model of that provider, unless a model is configured for the role or all roles', async () => {
    const env = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', TROUPE_MODEL: 'ollama/m' }
    const models = createModelRegistry({ world, env })
    expect((await models.resolve('openai/general')).name).toMatch(/^openai\/gpt/)
    expect((await models.resolve('anthropic/fast')).name).toMatch(/^anthropic\/claude/)
    expect(() => models.resolve('acme/general')).toThrow(
      /the provider 'acme' has no default model for the role 'general'/,
    )
    const mine = customModel('mine')
    expect(createModelRegistry({ world, env, fallback: mine }).resolve('openai/general')).toBe(mine)
    const configured = createModelRegistry({ world, env, config: { general: 'ollama/g' } })
    expect((await configured.resolve('openai/general')).name).toBe('ollama/g')
    await expect(createModelRegistry({ world, env: {} }).resolve('openai/general')).rejects.toMatchObject({
      code: 'model_auth',
    })
  })

  test('MO54 custom models are found by name, and the fallback serves every role that is not configured', async () => {
    const mine = customModel('mine, and only mine')
    const models = createModelRegistry({
      world,
      env: { TROUPE_MODEL_FAST: 'ollama/s' },
      fallback: mine,
      customModels: new Map([['other', customModel('other')]]),
    })
    expect(models.resolve(undefined)).toBe(mine)
    expect(models.resolve('mine, and only mine')).toBe(mine)
    expect(models.resolve('reasoning')).toBe(mine)
    expect((await models.resolve('fast')).name).toBe('ollama/s')
    expect((await models.resolve('other')).name).toBe('other')
  })

  test('MO55 a model is loaded once; a failure is not cached', async () => {
    const env: Record<string, string> = {}
    const models = createModelRegistry({ world, env })
    expect(await models.resolve('ollama/a')).toBe(await models.resolve('ollama/a'))
    await expect(models.resolve('openai/gpt-5')).rejects.toMatchObject({ code: 'model_auth' })
    env.OPENAI_API_KEY = 'k'
    expect((await models.resolve('openai/gpt-5')).name).toBe('openai/gpt-5')
  })

  test('MO56 a missing model, an unknown model and circular roles fail with a hint', async () => {
    const none = createModelRegistry({ world, env: {} })
    expect(() => none.resolve(undefined)).toThrow(expect.objectContaining({ code: 'no_model' }))
    expect(() => none.resolve('fast')).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/ANTHROPIC_API_KEY/) }),
    )
    const local = createModelRegistry({ world, env: { OLLAMA_HOST: 'box' } })
    expect(() => local.resolve('fast')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('set TROUPE_MODEL=ollama/NAME') }),
    )
    const near = createModelRegistry({
      world,
      customModels: new Map([['minimax/m', customModel('minimax/m')]]),
    }).resolve('minimx/m')
    await expect(near).rejects.toMatchObject({ code: 'unknown_model', alternatives: { 0: 'minimax/m' } })
    const circle = createModelRegistry({ world, env: { TROUPE_MODEL_FAST: 'general', TROUPE_MODEL_GENERAL: 'fast' } })
    expect(() => circle.resolve('fast')).toThrow('fast → general → fast')
  })
})
