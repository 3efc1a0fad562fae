import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { cassetteFixture, echo, rules, runToEnd } from '../../test/support/recorded-run.ts'
import { agent, agents, createTestTroupe, modelFromRules } from '../../test/support/test-troupe.ts'
import type { TroupeOptions } from '../index.ts'

const fixture = cassetteFixture()

describe('CA5 a miss', () => {
  const simple = { agents, model: modelFromRules({ reply: { text: 'fine' } }) }
  async function record(instruction = 'the first words of a long instruction') {
    const { troupe, task } = await createTestTroupe({ ...simple, cassette: { record: fixture.file } })
    await task('lead', instruction)
    await troupe.close()
  }
  async function replay(options: TroupeOptions, instruction = 'the first words of a long instruction') {
    const { task } = await createTestTroupe({ agents, cassette: { replay: fixture.file }, ...options })
    return (await task('lead', instruction)).error
  }

  test('CA5 a changed message is shown with the step key and the differing text', async () => {
    await record()
    const error = await replay({}, 'the first words of a LONG instruction')
    expect(error?.code).toBe('cassette_miss')
    expect(error?.message).toContain("'session/turn/1/model'")
    expect(error?.message).toMatch(/message 1 \(user\): recorded "….* long instruction", now "….* LONG instruction"/)
    expect(error?.message).not.toContain('system:')
  })

  test('CA5 a changed system prompt, tool list and settings are shown', async () => {
    await record()
    const changed = [agent('lead', { instructions: 'You are someone else.', temperature: 0.5 })]
    const error = await replay({ agents: changed, tools: [echo], limits: { output: 77 } })
    expect(error?.message).toMatch(/system: recorded "You are lead\.", now "You are someone else\."/)
    expect(error?.message).toMatch(/tools: added: echo/)
    expect(error?.message).toMatch(/settings\.max_output: recorded 16384, now 77/)
    expect(error?.message).toMatch(/settings\.temperature: recorded unset, now 0\.5/)
  })

  test('CA5 a request sent more often than recorded is reported with both counts', async () => {
    await record()
    const { task } = await createTestTroupe({ agents, cassette: { replay: fixture.file } })
    const instruction = 'the first words of a long instruction'
    expect((await task('lead', instruction)).status).toBe('completed')
    expect((await task('lead', instruction)).error?.message).toMatch(
      /is sent for the second time; the cassette has 1 response/,
    )
  })

  test('CA5 when no entry has the step key, the nearest entry of another key is compared', async () => {
    const team = [agent('lead'), agent('coder')]
    const toolCalls = [{ name: 'task', input: { agent: 'coder', instruction: 'write it' } }]
    const model = modelFromRules(
      { when: { agent: 'lead', turn: 1 }, reply: { toolCalls } },
      { reply: { text: 'fine' } },
    )
    const recording = await createTestTroupe({ agents: team, model, cassette: { record: fixture.file } })
    await recording.task('lead', 'go')
    const { task } = await createTestTroupe({ agents: team, cassette: { replay: fixture.file } })
    const { error } = await task('coder', 'write it')
    expect(error?.message).toContain('message 1 (user): recorded "go", now "write it"')
    writeFileSync(
      fixture.file,
      readFileSync(fixture.file, 'utf8').replaceAll('"key":"session/turn/1/model"', '"key":"other"'),
    )
    const again = await createTestTroupe({ agents: team, cassette: { replay: fixture.file } })
    expect((await again.task('lead', 'go')).error?.message).toMatch(/the nearest is 'other', which differs:/)
  })

  test('CA5 every later miss quotes the first one', async () => {
    const model = modelFromRules(...rules)
    await runToEnd({ model, cassette: { record: fixture.file } })
    const changed = [agent('lead'), agent('coder'), agent('critic', { instructions: 'Be kind.' })]
    const { task } = await createTestTroupe({ agents: changed, tools: [echo], cassette: { replay: fixture.file } })
    const { error } = await task('lead', 'go')
    expect(error?.message).toMatch(/message 3 \(tool\): recorded/)
    expect(error?.message).toMatch(/first miss of this replay: .*tool\/1.*\n.*system: .*You are critic.*Be kind/)
  })

  test('CA5 a model that was not recorded fails with the recorded models as alternatives', async () => {
    await record()
    const error = await replay({ agents: [agent('lead', { model: 'other/model' })] })
    expect(error).toMatchObject({ code: 'cassette_miss', alternatives: ['scripted'] })
  })
})
