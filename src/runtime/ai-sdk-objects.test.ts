import { anthropic, createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError } from '@ai-sdk/provider'
import { dynamicTool, jsonSchema, tool, wrapLanguageModel } from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent, createTroupeWithStore, functionModel, storeOf } from '../../test/support/test-troupe.ts'
import type { Troupe, TroupeOptions } from '../index.ts'
import { aiTools, createTroupe, defineTool } from '../index.ts'
import { CustomModels } from './adapt-options.ts'

const text = { type: 'text-delta' as const, id: '0', delta: 'Hi' }
const none = { noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
const usage = { inputTokens: { total: 4, ...none }, outputTokens: { total: 2, text: undefined, reasoning: undefined } }
const finish = { type: 'finish' as const, finishReason: { unified: 'stop' as const, raw: 'stop' }, usage }

function languageModel(modelId: string, provider = 'acme.chat'): MockLanguageModelV4 {
  const doStream = async () => ({ stream: convertArrayToReadableStream([text, finish]) })
  return new MockLanguageModelV4({ provider, modelId, doStream })
}

async function open(options: TroupeOptions): Promise<Troupe> {
  const troupe = await createTroupeWithStore({ embedder: false, ...options })
  onTestFinished(() => troupe.close())
  return troupe
}

const ask = { agent: 'lead', instruction: 'Go.' }

describe('models', () => {
  test('MO85 a language model is accepted for all agents, one agent, one run, and by name', async () => {
    const agents = [agent('lead'), { ...agent('own'), model: languageModel('agent') }]
    const model = languageModel('general')
    const run = languageModel('run')
    const troupe = await open({ agents, model, models: { custom: [languageModel('custom')] } })
    const models = async (run_id: string) =>
      (await troupe.events(run_id).all()).flatMap(({ type, data }) => (type === 'model:begin' ? data.model : []))
    const runs = [
      [ask, {}, 'acme/general'],
      [{ ...ask, agent: 'own' }, {}, 'acme/agent'],
      [ask, { model: 'acme/custom' }, 'acme/custom'],
      [ask, { model: run }, 'acme/run'],
      [ask, { model: run }, 'acme/run'],
    ] as const
    for (const [input, options, name] of runs) {
      const { run_id, status, output } = await troupe.run('task', input, options)
      expect([status, output]).toEqual(['completed', expect.objectContaining({ response: 'Hi' })])
      expect(await models(run_id)).toEqual([name])
    }
  })

  test('MO85 models of the interface versions 2 and 3 are accepted', async () => {
    const version3 = new MockLanguageModelV3({
      provider: 'old',
      modelId: 'three',
      doStream: async () => ({ stream: convertArrayToReadableStream([text, finish]) }),
    })
    const version2 = {
      specificationVersion: 'v2' as const,
      provider: 'old',
      modelId: 'two',
      doStream: async () => ({
        stream: convertArrayToReadableStream([
          text,
          {
            type: 'finish' as const,
            finishReason: 'stop' as const,
            usage: { inputTokens: 4, outputTokens: 2, totalTokens: 6 },
          },
        ]),
      }),
    }
    for (const model of [version2, version3]) {
      const troupe = await open({ agents: [agent('lead')], model })
      expect((await troupe.run('task', ask)).output).toMatchObject({ response: 'Hi' })
    }
  })

  test('MO85 a process without the object says that the model of the run is missing', async () => {
    const agents = [agent('lead')]
    const doStream = () =>
      Promise.reject(new APICallError({ message: 'no', statusCode: 400, url: '', requestBodyValues: {} }))
    const mine = new MockLanguageModelV4({ provider: 'acme', modelId: 'mine', doStream })
    const troupe = await open({ agents, model: functionModel(() => ({ text: 'x' })) })
    const { run_id, result } = await troupe.stream('task', ask, { model: mine })
    expect((await result).status).toBe('failed')
    const other = await open({ agents, store: storeOf(troupe), model: functionModel(() => ({ text: 'x' })) })
    const refused = other.resume(run_id).then(({ result }) => result)
    await expect(refused).rejects.toMatchObject({
      code: 'needs_missing',
      message: expect.stringContaining('acme/mine'),
    })
  })

  test('MO85 the limits of a listed model are known, also under its own object', async () => {
    const models = new CustomModels()
    const sonnet = await models.add(languageModel('claude-sonnet-5-5', 'anthropic.messages'), 'model')
    expect(sonnet).toMatchObject({
      name: 'anthropic/claude-sonnet-5-5',
      limits: { context: 1_000_000, output: 128_000 },
    })
    expect(await models.add(languageModel('other'), 'model')).not.toHaveProperty('limits')
  })

  test('MO86 a model without doStream, and two models with one name, are refused by name', async () => {
    const { doStream: _, ...broken } = { specificationVersion: 'v4', provider: 'acme', modelId: 'one', doStream: 1 }
    const create = (options: object) => createTroupe({ store: 'memory', ...options })
    const placed = [
      [{ model: broken }, '`model`'],
      [{ models: { custom: [broken] } }, '`models.custom`'],
      [{ agents: [{ ...agent('a'), model: broken }] }, '`agents: a.model`'],
      [{ model: { ...broken, specificationVersion: 'v1', doStream: () => {} } }, '`model`'],
    ] as const
    for (const [options, place] of placed) {
      const message = expect.stringContaining(`${place} is the model 'acme/one', without \`doStream\``)
      await expect(create(options)).rejects.toMatchObject({ code: 'invalid_input', message })
    }
    const custom = [languageModel('m', 'openai.chat'), languageModel('m', 'openai.responses')]
    await expect(create({ models: { custom } })).rejects.toMatchObject({
      message: "`models.custom`: two models have the name 'openai/m'",
    })
    const troupe = await open({ agents: [agent('lead')] })
    await expect(troupe.run('task', ask, { model: broken as never })).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('models of several tenants', () => {
  test('MO86 models of one provider instance are the same model', async () => {
    const models = new CustomModels()
    for (const provider of [createAnthropic({ apiKey: 'a' }), createOpenAI({ apiKey: 'a' })]) {
      const { name } = await models.add(provider('m'), 'model')
      expect((await models.add(provider('m'), 'model')).name).toBe(name)
    }
  })

  const own = createAnthropic({ apiKey: 'a' })
  const wrapped = () => wrapLanguageModel({ model: own('m'), middleware: {} })
  test.each([
    ['another key', own('m'), createAnthropic({ apiKey: 'b' })('m')],
    ['another key of OpenAI', createOpenAI({ apiKey: 'a' })('m'), createOpenAI({ apiKey: 'b' })('m')],
    ['another base URL', own('m'), createAnthropic({ apiKey: 'a', baseURL: 'https://eu.example' })('m')],
    ['middleware', own('m'), wrapped()],
    ['other middleware', wrapped(), wrapped()],
    ['nothing that can be compared', languageModel('m'), languageModel('m')],
  ])('MO86 a model with %s is refused, and the first stays', async (_difference, first, second) => {
    const models = new CustomModels()
    const { name } = await models.add(first, 'model')
    const kept = models.byName.get(name)
    await expect(models.add(second, 'model')).rejects.toMatchObject({
      code: 'invalid_input',
      message: `\`model\`: two models have the name '${name}'`,
    })
    expect(models.byName.get(name)).toBe(kept)
  })
})

/** Calls a tool once; returns its result as the model saw it, and its event. */
async function callTool(tools: TroupeOptions['tools'], input: object = {}, options: TroupeOptions = {}) {
  const model = functionModel(({ session }) =>
    session.turn === 1 ? { calls: [{ name: 'probe', input }] } : { text: 'Done.' },
  )
  const troupe = await open({ agents: [agent('lead')], model, ...(tools && { tools }), ...options })
  const { run_id, status } = await troupe.run('task', ask, { context: { customer: 7 } })
  const events = await troupe.events(run_id).all()
  const outcome = events.find(({ type }) => type === 'tool:post' || type === 'tool:error')
  const [kind] = events.flatMap(({ type, data }) => (type === 'tool:pre' ? data.kind : []))
  return { troupe, run_id, status, kind, events, outcome: outcome?.data as Record<string, unknown> | undefined }
}

describe('tools', () => {
  test('MO87 tool(), dynamicTool() and tools of Troupe are named by their keys; the returned value is the output', async () => {
    const inputSchema = z.object({ rows: z.number().default(3) })
    const probes = {
      tool: tool({ description: 'x', inputSchema, execute: ({ rows }) => ({ rows }) }),
      dynamic: dynamicTool({ inputSchema: jsonSchema({ type: 'object' }), execute: async () => ({ rows: 3 }) }),
      validated: tool({
        inputSchema: jsonSchema<{ rows: number }>(
          { type: 'object' },
          { validate: async () => ({ success: true, value: { rows: 3 } }) },
        ),
        execute: (value) => value,
      }),
      schema: { inputSchema: { type: 'object' }, execute: () => ({ rows: 3 }) },
      own: defineTool({
        ...{ name: 'other', description: 'x', kind: 'act', category: 'action', input: inputSchema },
        execute: (value) => ({ success: true, output: value }),
      }),
    }
    for (const [name, probe] of Object.entries(probes)) {
      const { outcome, kind } = await callTool({ probe })
      expect(outcome, name).toMatchObject({ tool: 'probe', output: { rows: 3 } })
      expect(kind).toBe('act')
    }
  })

  test('MO87 execute gets id, signal, conversation and context; a throw is the error; aiTools sets the kind', async () => {
    let options: Record<string, unknown> = {}
    const probe = tool({
      inputSchema: z.object({}),
      execute: (_input, given): string => {
        options = given as never
        throw new Error('no such row')
      },
    })
    const { outcome, kind, status } = await callTool(aiTools({ probe }, { kind: 'read' }))
    expect([status, kind, outcome]).toMatchObject(['completed', 'read', { error: 'no such row' }])
    expect(options).toMatchObject({ toolCallId: outcome?.tool_call_id, context: { customer: 7 } })
    expect(options.abortSignal).toBeInstanceOf(AbortSignal)
    expect(options.messages).toMatchObject([
      { role: 'user', content: [{ type: 'text', text: expect.stringContaining('Go.') }] },
    ])
  })

  test('MO87 an async iterable reports progress, and its last value is the output', async () => {
    const probe = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'one'
        yield { done: 2 }
      },
    })
    const { outcome, events } = await callTool({ probe })
    expect(outcome).toMatchObject({ output: { done: 2 } })
    expect(events.flatMap(({ type, data }) => (type === 'tool:progress' ? data.message : []))[0]).toBe('one')
  })

  test('MO88 toModelOutput: text, JSON, errors and images', async () => {
    const png = 'iVBORw0KGgo='
    const probe = (output: object) => ({
      probe: tool({ inputSchema: z.object({}), execute: () => 'raw', toModelOutput: () => output as never }),
    })
    expect((await callTool(probe({ type: 'text', value: 'short' }))).outcome).toMatchObject({ output: 'short' })
    expect((await callTool(probe({ type: 'json', value: [1] }))).outcome).toMatchObject({ output: [1] })
    for (const output of [
      { type: 'error-text', value: 'no' },
      { type: 'execution-denied', reason: 'no' },
    ])
      expect((await callTool(probe(output))).outcome).toMatchObject({ error: 'no' })
    const images = [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } },
      { type: 'media', mediaType: 'image/png', data: png },
      { type: 'image-data', mediaType: 'image/png', data: png },
    ]
    for (const image of images) {
      const value = [{ type: 'text', text: 'A chart.' }, image, { type: 'file-id', fileId: 'f' }]
      const { outcome } = await callTool(probe({ type: 'content', value }))
      expect(outcome).toMatchObject({
        output: 'A chart.\n(file-id: not shown)',
        attachments: [{ media_type: 'image/png', data: png }],
      })
    }
  })

  test('MO88 a toModelOutput of version 5, which expects the output itself, is an error and no empty result', async () => {
    for (const type of ['text', 'json']) {
      const toModelOutput = (output: unknown) => ({ type, value: (output as { rows?: number }).rows }) as never
      const probe = tool({ inputSchema: z.object({}), execute: () => ({ rows: 3 }), toModelOutput })
      const error = `\`toModelOutput\` of probe returned ${type} without a value`
      expect((await callTool({ probe })).outcome).toMatchObject({ error: expect.stringContaining(error) })
    }
  })

  test('MO89 nobody is asked about arguments that the schema rejects; a check that breaks asks', async () => {
    const probe = (validate: () => { success: false; error: Error }) =>
      tool({
        inputSchema: jsonSchema<object>({ type: 'object' }, { validate }),
        execute: () => 'done',
        needsApproval: () => true,
      })
    const rejected = await callTool({ probe: probe(() => ({ success: false, error: new Error('no rows') })) })
    expect([rejected.status, rejected.outcome]).toMatchObject([
      'completed',
      { error: 'invalid arguments for probe: no rows' },
    ])
    expect((await callTool({ probe: probe(throwing as never) })).status).toBe('waiting')
  })

  test('MO89 needsApproval asks a person, whatever rules allow, and `always` counts', async () => {
    const paid: number[] = []
    const execute = ({ amount }: { amount: number }) => paid.push(amount)
    const inputSchema = z.object({ amount: z.number() })
    let questions = 0
    const isLarge = async ({ amount }: { amount: number }) => {
      questions += 1
      return amount > 10
    }
    const approvals = [true, isLarge, throwing]
    const permissions = { allow: ['probe'] }
    for (const needsApproval of approvals) {
      const probe = tool({ inputSchema, execute, needsApproval })
      const { troupe, run_id, status } = await callTool({ probe }, { amount: 50 }, { permissions })
      expect([status, paid]).toEqual(['waiting', []])
      const [gate] = (await troupe.gates({ run_id })).items
      expect(gate?.question).toBe('May lead call probe?')
      expect((await (await troupe.answer(gate?.gate_id ?? '', 'always')).result).status).toBe('completed')
      expect(paid.splice(0)).toEqual([50])
      expect(await troupe.replay(run_id)).toMatchObject({ same: true })
    }
    expect(questions).toBe(1)
    const small = tool({ inputSchema, execute, needsApproval: ({ amount }) => amount > 10 })
    expect((await callTool({ probe: small }, { amount: 5 })).status).toBe('completed')
    expect(paid).toEqual([5])
  })

  test('MO89 a needsApproval that does not return in time asks a person', async () => {
    const input = z.object({})
    const needsApproval = () => new Promise<boolean>(() => {})
    const probe = defineTool({
      ...{ name: 'probe', description: 'x', kind: 'act', input, timeout_ms: 5, needsApproval },
      execute: () => 'done',
    })
    const { troupe, run_id, status } = await callTool([probe])
    expect(status).toBe('waiting')
    expect(await troupe.replay(run_id)).toMatchObject({ same: true })
  })

  test('MO89 a cancelled run does not wait for needsApproval, and records no verdict', async () => {
    const asked = Promise.withResolvers<AbortSignal>()
    const probe = tool({
      inputSchema: z.object({}),
      execute: () => 'done',
      needsApproval: (_input, options) => {
        asked.resolve((options as { abortSignal?: AbortSignal }).abortSignal as AbortSignal)
        return new Promise<boolean>(() => {})
      },
    })
    const model = functionModel(() => ({ calls: [{ name: 'probe', input: {} }] }))
    const troupe = await open({ agents: [agent('lead')], model, tools: { probe } })
    const { run_id, result } = await troupe.stream('task', ask)
    const signal = await asked.promise
    await troupe.cancel(run_id)
    expect((await result).status).toBe('cancelled')
    expect(signal.aborted).toBe(true)
    const keys = (await troupe.events(run_id).all()).map(({ data }) => (data as { key?: string }).key ?? '')
    expect(keys.filter((key) => key.endsWith('/approval'))).toEqual([])
  })

  test('MO90 a tool that cannot be executed, or whose name is taken, is refused by name', async () => {
    const inputSchema = z.object({})
    const probe = tool({ inputSchema, execute: () => 'x' })
    const refused: [unknown, string][] = [
      [{ search: anthropic.tools.webSearch_20250305() }, "the tool 'search' of `tools` is executed by its provider"],
      [{ client: tool({ inputSchema, outputSchema: inputSchema }) }, "the tool 'client' of `tools` has no `execute`"],
      [{ old: { parameters: inputSchema, execute: () => 'x' } }, "the tool 'old' of `tools` has no `inputSchema`"],
      [{ nothing: 7 }, "the tool 'nothing' of `tools` has no `inputSchema`"],
      [[probe], '`tools[0]` is a tool of the AI SDK, which has no name'],
      [[...aiTools({ probe }), ...aiTools({ probe })], "'probe'"],
      [{ 'no name': probe }, "'no name'"],
      [7, '`tools` is not a list'],
    ]
    for (const [tools, message] of refused) {
      await expect(createTroupe({ store: 'memory', tools: tools as never }), message).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(message),
      })
    }
  })
})

function throwing(): boolean {
  throw new Error('broken')
}
