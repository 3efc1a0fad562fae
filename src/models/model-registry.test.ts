import { describe, expect, test } from 'vitest'
import type { Model } from '../kernel/model.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { createModelRegistry } from './model-registry.ts'
import { scriptedModel } from './scripted.ts'

const own = (name: string): Model => scriptedModel({ rules: [] }, { name })
const world = simulatedWorld(1)

describe('models by name', () => {
  test('MO52 lists and roles become models; those after the first take over', async () => {
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
    expect(models.detected.roles.general?.why).toBe('TROUPE_MODEL_GENERAL says so')
  })

  test('MO53 families that agent files name stand for roles', async () => {
    const env = { TROUPE_MODEL_FAST: 'ollama/s', TROUPE_MODEL_GENERAL: 'ollama/m', TROUPE_MODEL_REASONING: 'ollama/l' }
    const models = createModelRegistry({ world, env })
    const names = await Promise.all(['haiku', 'Sonnet', 'opus', 'fable'].map((name) => models.resolve(name)))
    expect(names.map(({ name }) => name)).toEqual(['ollama/s', 'ollama/m', 'ollama/l', 'ollama/l'])
  })

  test('CO89 a provider with a role is what that provider has for it, unless a model is named for everything', async () => {
    const env = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', TROUPE_MODEL: 'ollama/m' }
    const models = createModelRegistry({ world, env })
    expect((await models.resolve('openai/general')).name).toMatch(/^openai\/gpt/)
    expect((await models.resolve('anthropic/fast')).name).toMatch(/^anthropic\/claude/)
    expect(() => models.resolve('acme/general')).toThrow(/no model of 'acme' is known for the role general/)
    const mine = own('mine')
    expect(createModelRegistry({ world, env, fallback: mine }).resolve('openai/general')).toBe(mine)
    const named = createModelRegistry({ world, env, config: { general: 'ollama/g' } })
    expect((await named.resolve('openai/general')).name).toBe('ollama/g')
    await expect(createModelRegistry({ world, env: {} }).resolve('openai/general')).rejects.toMatchObject({
      code: 'model_auth',
    })
  })

  test('MO54 a program’s own models are found by name, and the given one serves every role nobody configured', async () => {
    const mine = own('mine, and only mine')
    const models = createModelRegistry({
      world,
      env: { TROUPE_MODEL_FAST: 'ollama/s' },
      fallback: mine,
      customModels: [own('other')],
    })
    expect(models.resolve(undefined)).toBe(mine)
    expect(models.resolve('mine, and only mine')).toBe(mine)
    expect(models.resolve('reasoning')).toBe(mine)
    expect((await models.resolve('fast')).name).toBe('ollama/s')
    expect((await models.resolve('other')).name).toBe('other')
  })

  test('MO55 a model is made once; a failure is not remembered', async () => {
    const env: Record<string, string> = {}
    const models = createModelRegistry({ world, env })
    expect(await models.resolve('ollama/a')).toBe(await models.resolve('ollama/a'))
    await expect(models.resolve('openai/gpt-5')).rejects.toMatchObject({ code: 'model_auth' })
    env.OPENAI_API_KEY = 'k'
    expect((await models.resolve('openai/gpt-5')).name).toBe('openai/gpt-5')
  })

  test('MO56 no model, an unknown one and roles in a circle are told with what to do', async () => {
    const none = createModelRegistry({ world, env: {} })
    expect(() => none.resolve(undefined)).toThrow(expect.objectContaining({ code: 'no_model' }))
    expect(() => none.resolve('fast')).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/ANTHROPIC_API_KEY/) }),
    )
    const local = createModelRegistry({ world, env: { OLLAMA_HOST: 'box' } })
    expect(() => local.resolve('fast')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('set TROUPE_MODEL=ollama/NAME') }),
    )
    const near = createModelRegistry({ world, customModels: [own('minimax/m')] }).resolve('minimx/m')
    await expect(near).rejects.toMatchObject({ code: 'unknown_model', alternatives: { 0: 'minimax/m' } })
    const circle = createModelRegistry({ world, env: { TROUPE_MODEL_FAST: 'general', TROUPE_MODEL_GENERAL: 'fast' } })
    expect(() => circle.resolve('fast')).toThrow('fast → general → fast')
  })
})
