import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  contributionJson,
  createCollaborationTroupe,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { eventData } from '../../../../test/support/manual-doubles.ts'
import type { TroupeOptions } from '../../../index.ts'
import { defineTool } from '../../../index.ts'

const replies = { everybody: contributionJson('go'), coordinator: 'Go.' }
const read = defineTool({
  name: 'Read',
  description: 'reads',
  kind: 'read',
  category: 'perception',
  input: z.object({}),
  execute: () => ({ success: true }),
})

function runWithConfig(config: object, more: object = {}, options: TroupeOptions = {}) {
  return runCollaboration(
    replies,
    { agents: [{ name: 'a', config }, { name: 'b' }], ...more },
    { tools: [read], ...options },
  )
}

describe('config of an agent', () => {
  test('CO88 a likely typo in a key is rejected before the first model request, with the closest key', async () => {
    const { troupe, model } = await createCollaborationTroupe(replies)
    const run = (config: object, more: object = {}) =>
      troupe.run('collaborate' as string, { task: 'x', agents: [{ name: 'a', config }], ...more })
    const provider = { providers: [{ module: 'provider-acme', config: { modell: 'm' } }] }
    await expect(run({ temprature: 0.1 })).rejects.toMatchObject({
      code: 'invalid_input',
      message: "config of a: unknown 'temprature'; known: model, temperature, system_prompt, tools, providers",
      hint: "did you mean 'temperature'?",
    })
    await expect(run({ modell: 'x' })).rejects.toMatchObject({ hint: "did you mean 'model'?" })
    await expect(run(provider)).rejects.toMatchObject({ hint: "did you mean 'model'?" })
    await expect(run({}, { coordinator_config: { modell: 'x' } })).rejects.toMatchObject({
      message: expect.stringContaining('config of the coordinator'),
    })
    expect(model.requests).toEqual([])
  })

  test('CO88 unknown keys are a warning; keys of other hosts are accepted', async () => {
    const foreign = { session: { orchestrator: 'x' }, source: 'git+https://example.invalid/x', hooks: [] }
    expect((await runWithConfig(foreign)).output.metadata.problems).toBeUndefined()
    const { output } = await runWithConfig({
      ...foreign,
      colour: 'red',
      providers: [
        { module: 'provider-acme', config: { model: 'manual', max_tokens: 5 } },
        { module: 'provider-other' },
      ],
      model: 'manual',
    })
    expect(output.metadata).toMatchObject({
      status: 'completed',
      problems: [
        "config of a: unknown 'colour'",
        'config of a: only the first of 2 providers is used',
        "config of a: 'max_tokens' of provider-acme is not used",
      ],
    })
  })

  test('CO88 an unknown tool is a warning; a likely typo is rejected before the first model request', async () => {
    const { output, events } = await runWithConfig({ tools: ['Read', { module: 'tool-filesystem' }] })
    expect(output.metadata.problems).toEqual([
      expect.stringMatching(/^config of a: unknown tool 'tool-filesystem'; known: .*task/),
    ])
    expect(eventData(events, 'session:open')[0]?.tools).toEqual(['Read'])
    const { result, model } = await runWithConfig({ tools: ['reead'] })
    expect(result).toMatchObject({ status: 'failed', error: { code: 'invalid_input', hint: "did you mean 'Read'?" } })
    expect(model.requests).toEqual([])
  })

  test('CO89 a provider without a model uses its general model, else the model of the run with a warning', async () => {
    const provider = { providers: [{ module: 'provider-acme', config: { temperature: 0.1 } }] }
    const known = { resolve: (name: string | undefined) => ({ name: name ?? 'run', stream }) }
    const found = await runCollaboration(
      replies,
      { agents: [{ name: 'a', config: provider }] },
      { models: { resolver: known } },
    )
    expect(eventData(found.events, 'session:open')[0]).toMatchObject({ model: 'acme/general' })
    expect(found.output.metadata.problems).toBeUndefined()
    const strict = {
      resolve(name: string | undefined) {
        if (name?.startsWith('acme/')) throw new Error('no key for acme')
        return { name: name ?? 'run', stream }
      },
    }
    const input = { agents: [{ name: 'a', config: provider }], coordinator_config: provider }
    const missing = await runCollaboration(replies, input, { models: { resolver: strict } })
    expect(eventData(missing.events, 'session:open').map(({ model }) => model)).toEqual([undefined, undefined])
    expect(missing.output.metadata).toMatchObject({
      status: 'completed',
      problems: [
        "config of a: acme has no model, so the run's model is used: no key for acme",
        "coordinator_config: acme has no model, so the run's model is used: no key for acme",
      ],
    })
  })
})

async function* stream() {
  yield { type: 'text' as const, text: contributionJson('go') }
  const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
  yield { type: 'finish' as const, stop: 'end' as const, usage }
}
