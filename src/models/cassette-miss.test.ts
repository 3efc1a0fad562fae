import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { cassetteFixture, echo, rules, runToEnd } from '../../test/support/recorded-run.ts'
import { agent, agents, createTestTroupe, modelFromRules } from '../../test/support/test-troupe.ts'
import type { TroupeOptions } from '../index.ts'

const on = cassetteFixture()

describe('CA5 a miss', () => {
  const simple = { agents, model: modelFromRules({ reply: { text: 'fine' } }) }
  async function record(instruction = 'the first words of a long instruction') {
    const { troupe, task } = await createTestTroupe({ ...simple, cassette: { record: on.file } })
    await task('lead', instruction)
    await troupe.close()
  }
  async function replay(options: TroupeOptions, instruction = 'the first words of a long instruction') {
    const { task } = await createTestTroupe({ agents, cassette: { replay: on.file }, ...options })
    return (await task('lead', instruction)).error
  }

  test('CA5 shows the key and where a message is different', async () => {
    await record()
    const error = await replay({}, 'the first words of a LONG instruction')
    expect(error?.code).toBe('cassette_miss')
    expect(error?.message).toContain("'session/turn/1/model'")
    expect(error?.message).toMatch(/message 1 \(user\): recorded "….* long instruction", now "….* LONG instruction"/)
    expect(error?.message).not.toContain('system:')
  })

  test('CA5 shows a changed system prompt, tools and settings', async () => {
    await record()
    const changed = [agent('lead', { instructions: 'You are someone else.', temperature: 0.5 })]
    const error = await replay({ agents: changed, tools: [echo], limits: { output: 77 } })
    expect(error?.message).toMatch(/system: recorded "You are lead\.", now "You are someone else\."/)
    expect(error?.message).toMatch(/tools: new: echo/)
    expect(error?.message).toMatch(/settings\.max_output: recorded 16384, now 77/)
    expect(error?.message).toMatch(/settings\.temperature: recorded nothing, now 0\.5/)
  })

  test('CA5 says when a call was asked more often than recorded', async () => {
    await record()
    const { task } = await createTestTroupe({ agents, cassette: { replay: on.file } })
    const words = 'the first words of a long instruction'
    expect((await task('lead', words)).status).toBe('completed')
    expect((await task('lead', words)).error?.message).toMatch(/asked for the second time; one answer was recorded/)
  })

  test('CA5 takes the nearest entry of another key when this key was never asked for', async () => {
    const staff = [agent('lead'), agent('coder')]
    const toolCalls = [{ name: 'task', input: { agent: 'coder', instruction: 'write it' } }]
    const model = modelFromRules(
      { when: { agent: 'lead', turn: 1 }, reply: { toolCalls } },
      { reply: { text: 'fine' } },
    )
    const recording = await createTestTroupe({ agents: staff, model, cassette: { record: on.file } })
    await recording.task('lead', 'go')
    const { task } = await createTestTroupe({ agents: staff, cassette: { replay: on.file } })
    const { error } = await task('coder', 'write it')
    expect(error?.message).toContain('message 1 (user): recorded "go", now "write it"')
    writeFileSync(on.file, readFileSync(on.file, 'utf8').replaceAll('"key":"session/turn/1/model"', '"key":"other"'))
    const again = await createTestTroupe({ agents: staff, cassette: { replay: on.file } })
    expect((await again.task('lead', 'go')).error?.message).toMatch(/nearest is 'other', but:/)
  })

  test('CA5 later misses name the first one', async () => {
    const model = modelFromRules(...rules)
    await runToEnd({ model, cassette: { record: on.file } })
    const changed = [agent('lead'), agent('coder'), agent('critic', { instructions: 'Be kind.' })]
    const { task } = await createTestTroupe({ agents: changed, tools: [echo], cassette: { replay: on.file } })
    const { error } = await task('lead', 'go')
    expect(error?.message).toMatch(/message 3 \(tool\): recorded/)
    expect(error?.message).toMatch(/the first miss of this replay: .*tool\/1.*\n.*system: .*You are critic.*Be kind/)
  })

  test('CA5 a model that was never asked for is named with those that were', async () => {
    await record()
    const error = await replay({ agents: [agent('lead', { model: 'other/model' })] })
    expect(error).toMatchObject({ code: 'cassette_miss', alternatives: ['scripted'] })
  })
})
