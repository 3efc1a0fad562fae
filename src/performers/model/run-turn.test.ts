import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ChunkSource } from '../../../test/support/manual-doubles.ts'
import {
  chunkModel,
  chunksByTurn,
  eventData,
  textChunks,
  toolCallChunks,
} from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, lastMessageText, runToEnd, storeOf } from '../../../test/support/test-troupe.ts'
import { isEvent } from '../../kernel/event.ts'
import type { ModelChunk } from '../../kernel/model.ts'
import { NO_RETRIES } from '../../kernel/retry-policy.ts'
import { foldEvents, sessionFrom } from '../../kernel/session/session-fold.ts'
import type { PriceBook } from '../../kernel/spend.ts'
import type { StreamItem } from '../../runtime/run-handle.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { defineTool } from '../../tools/define-tool.ts'

const worker = agent('worker')
const look = defineTool({
  name: 'look',
  description: 'look',
  input: z.object({}),
  category: 'perception',
  kind: 'read',
  execute: () => ({ success: true, output: 'a tree' }),
})

async function runTurns(responses: ChunkSource[], options: TroupeOptions = {}) {
  const model = chunkModel(chunksByTurn(...responses))
  const created = await createTestTroupe({
    model,
    agents: [worker],
    tools: [look],
    engine: { retryPolicy: NO_RETRIES },
    ...options,
  })
  const result = await created.task('worker', 'go')
  return { ...created, model, result, response: (result.output as { response: string } | null)?.response }
}

async function* interrupt(...chunks: ModelChunk[]): AsyncGenerator<ModelChunk> {
  yield* chunks
}

const httpError = (code: number, message: string) => Object.assign(new Error(message), { status: code })

async function* throwAfter(error: Error, ...chunks: ModelChunk[]): AsyncGenerator<ModelChunk> {
  yield* chunks
  throw error
}

describe('the end of a session', () => {
  test('U7 after an empty final text the model gets one more turn without tools', async () => {
    const { model, result, response } = await runTurns([
      toolCallChunks({ name: 'look' }),
      textChunks('  '),
      textChunks('A tree.'),
    ])
    expect([result.stop_reason, response]).toEqual(['completed', 'A tree.'])
    expect(model.requests.map(({ settings }) => settings.tool_choice)).toEqual([undefined, undefined, 'none'])
    expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('Your last message was empty')
  })

  test('U7 after a second empty text the session ends partial with its last text', async () => {
    const textAndCall: ModelChunk[] = [{ type: 'text', text: 'Let me look.' }, ...toolCallChunks({ name: 'look' })]
    const { model, result, response } = await runTurns([textAndCall, textChunks(''), textChunks('')])
    expect([result.stop_reason, result.status, response]).toEqual(['partial', 'partial', 'Let me look.'])
    expect(model.requests).toHaveLength(3)
  })

  test.each(['', '\u200b\n', '<|system|>', '<|im_start|>assistant\n<|im_end|></s>'])(
    'U7 a session without any answer fails (%j), and resume asks again',
    async (text) => {
      let calls = 0
      const model = chunkModel(() => textChunks(++calls > 2 ? 'A tree.' : text))
      const { troupe, result, response } = await runTurns([], { model })
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'model_invalid_response', responsible: 'model' },
      })
      expect([result.error?.message, response]).toEqual([
        expect.stringMatching(/^worker gave (an empty|no) answer/),
        '',
      ])
      const resumed = await (await troupe.resume(result.run_id)).result
      expect([resumed.status, (resumed.output as { response: string }).response]).toEqual(['completed', 'A tree.'])
    },
  )

  test('U7 an earlier text is no answer where an object was requested', async () => {
    const textAndCall: ModelChunk[] = [{ type: 'text', text: 'Let me look.' }, ...toolCallChunks({ name: 'look' })]
    const { troupe } = await runTurns([textAndCall, textChunks(''), textChunks('')])
    const output = { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] }
    const result = await runToEnd(troupe, 'task', { agent: 'worker', instruction: 'go', output })
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
  })

  test('U32 after a tool call as text the model is told once, and can call the tool', async () => {
    const { model, result, response } = await runTurns([
      textChunks('I will look.\n<tool_call>{"name":"look","arguments":{}}</tool_call>'),
      toolCallChunks({ name: 'look' }),
      textChunks('A tree.'),
    ])
    expect([result.stop_reason, response]).toEqual(['completed', 'A tree.'])
    expect(model.requests[1] && lastMessageText(model.requests[1])).toContain('nothing was called')
    expect(model.requests[1]?.settings.tool_choice).toBeUndefined()
  })

  test('U32 a second tool call as text fails, and no tool is called', async () => {
    const { model, result, troupe } = await runTurns([textChunks('```json\n{"tool":"look","arguments":{}}\n```')])
    expect([result.status, result.error?.code, model.requests.length]).toEqual(['failed', 'model_invalid_response', 2])
    expect(result.error?.message).toMatch(
      /^worker wrote a tool call as text instead of an answer: ```json \{"tool":"look"/,
    )
    expect(eventData(await troupe.events(result.run_id).all(), 'tool:pre')).toHaveLength(0)
  })

  test('U33 a response without end is cut off, and its stream is closed', async () => {
    let chunks = 0
    let isClosed = false
    const model = chunkModel(async function* () {
      try {
        for (;;) {
          chunks += 1
          yield { type: 'text', text: 'and so on '.repeat(1000) } as const
        }
      } finally {
        isClosed = true
      }
    })
    const { result, response, troupe } = await runTurns([], { model })
    expect([result.status, result.stop_reason, response?.length]).toEqual(['partial', 'partial', 16_384 * 8])
    expect([chunks, isClosed]).toEqual([14, true])
    const [end] = eventData(await troupe.events(result.run_id).all(), 'model:end')
    expect(end).toMatchObject({ stop: 'length', estimated: true, cut_off: true })
  })

  test('U8 a session out of turns gets one last turn without tools and ends max_turns', async () => {
    const busy = agent('worker', { max_turns: 2 })
    const { model, result, response } = await runTurns(
      [toolCallChunks({ name: 'look' }), toolCallChunks({ name: 'look' }), textChunks('So far.')],
      {
        agents: [busy],
      },
    )
    expect([result.stop_reason, result.status, response]).toEqual(['max_turns', 'partial', 'So far.'])
    expect(model.requests.map(({ settings }) => settings.tool_choice)).toEqual([undefined, undefined, 'none'])
    expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('used all your turns')
  })

  test('U8 tool calls in the last turn are not made', async () => {
    const busy = agent('worker', { max_turns: 1 })
    const { model, result, troupe } = await runTurns([toolCallChunks({ name: 'look' })], { agents: [busy] })
    expect([result.stop_reason, model.requests.length]).toEqual(['max_turns', 2])
    expect(eventData(await troupe.events(result.run_id).all(), 'tool:pre')).toHaveLength(1)
  })

  test('U9 a refusal ends refused and names the call; a response cut off by length ends partial', async () => {
    const refused = await runTurns([textChunks('I cannot help with that.', { stop: 'refusal' })])
    expect(refused.result).toMatchObject({ status: 'failed', stop_reason: 'refused', error: { code: 'model_refused' } })
    expect([refused.result.error?.step, refused.response]).toEqual(['session/turn/1/model', 'I cannot help with that.'])
    const long = await runTurns([textChunks('Once upon a', { stop: 'length' })])
    expect([long.result.status, long.result.stop_reason, long.response]).toEqual(['partial', 'partial', 'Once upon a'])
  })

  test('U9 a refused request that is repeated after a resume is not part of the conversation', async () => {
    let calls = 0
    const { troupe, result } = await runTurns([], {
      model: chunkModel(() =>
        ++calls === 1 ? textChunks('No.', { stop: 'refusal' }) : textChunks(`response ${calls}`),
      ),
    })
    const resumed = await (await troupe.resume(result.run_id)).result
    const { session_id } = resumed.output as { session_id: string }
    const model = chunkModel(() => textChunks('and more'))
    const later = await createTestTroupe({ model, store: storeOf(troupe), agents: [worker] })
    await later.troupe.run('task', { session_id, instruction: 'more' })
    expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(model.requests[0]?.messages[1]?.content).toEqual([{ type: 'text', text: 'response 2' }])
  })
})

describe('failing models', () => {
  test('U10 an interrupted stream keeps its partial text, and a resume repeats only that call', async () => {
    let toolCalls = 0
    const countingLook = { ...look, execute: () => ({ success: true, output: ++toolCalls }) }
    let modelCalls = 0
    const model = chunkModel(({ session }) => {
      modelCalls += 1
      if (session.turn === 1) return toolCallChunks({ name: 'look' })
      return modelCalls === 2 ? interrupt({ type: 'text', text: 'I see a t' }) : textChunks('I see a tree.')
    })
    const { troupe, result } = await runTurns([], { model, tools: [countingLook] })
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'stream_interrupted', step: 'session/turn/2/model' },
    })
    expect(result.output).toMatchObject({ response: 'I see a t' })
    expect(eventData(await troupe.events(result.run_id).all(), 'model:error')).toMatchObject([
      { partial_text: 'I see a t' },
    ])
    const resumed = await (await troupe.resume(result.run_id)).result
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'I see a tree.' } })
    expect([modelCalls, toolCalls]).toEqual([3, 1])
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
    expect(eventData(await troupe.events(result.run_id).all(), 'model:begin').map(({ attempt }) => attempt)).toEqual([
      1, 1, 2,
    ])
  })

  test('U11 a chunk of unknown type fails with model_invalid_response', async () => {
    const unknown = { type: 'hologram', text: '?' } as unknown as ModelChunk
    const { result } = await runTurns([[unknown, ...textChunks('x')]])
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
    expect(result.error?.message).toContain('hologram')
  })

  test('U12 tool calls with the same id, or none, get ids of their own and a result each', async () => {
    const twice = toolCallChunks({ name: 'look', id: 'x' }, { name: 'look', id: 'x' }, { name: 'look', id: '' })
    const { model } = await runTurns([twice, textChunks('done')])
    const [, assistant, results] = model.requests[1]?.messages ?? []
    const ids = (message: typeof results) => message?.content.map((part) => ('id' in part ? part.id : ''))
    expect(ids(assistant)).toEqual(['x', 'x~2', 'call'])
    expect(ids(results)).toEqual(['x', 'x~2', 'call'])
  })

  test('U13 a model error fails the run with its step, and the partial text is kept', async () => {
    const { result, troupe } = await runTurns([
      toolCallChunks({ name: 'look' }),
      throwAfter(httpError(529, 'overloaded'), { type: 'text', text: 'Well' }),
    ])
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'failed', output: { response: 'Well' } })
    expect(result.error).toMatchObject({ code: 'model_failed', message: 'overloaded', step: 'session/turn/2/model' })
    const [error] = eventData(await troupe.events(result.run_id).all(), 'model:error')
    expect(error).toMatchObject({ usage: { input: 0, output: 0 } })
    expect(error?.estimated).toBeUndefined()
  })

  test('U13 a failed call still counts in usage after a resume', async () => {
    const rules = [
      { reply: { error: { status: 500, message: 'down' } }, usage: { input: 7, output: 0 }, times: 1 },
      { reply: { text: 'up again' }, usage: { input: 7, output: 3 } },
    ]
    const { troupe, task } = await createTestTroupe({ rules, agents: [worker], engine: { retryPolicy: NO_RETRIES } })
    const failed = await task('worker', 'go')
    const resumed = await (await troupe.resume(failed.run_id)).result
    expect(resumed).toMatchObject({ status: 'completed', usage: { calls: 2, input: 14, output: 3 } })
    expect(resumed.output).toMatchObject({ response: 'up again', usage: { calls: 2, input: 14, output: 3 } })
  })
})

describe('usage and deltas', () => {
  test('U16 a call without reported usage counts at its reservation and is marked estimated', async () => {
    const prices: PriceBook = { cost: (_model, usage) => (usage.input + usage.output) / 1000 }
    const { troupe, result } = await runTurns(
      [
        [
          { type: 'text', text: 'hi' },
          { type: 'finish', stop: 'end' },
        ],
      ],
      {
        engine: { retryPolicy: NO_RETRIES },
        models: { prices },
      },
    )
    const events = await troupe.events(result.run_id).all()
    const [begin] = eventData(events, 'model:begin')
    const [end] = eventData(events, 'model:end')
    expect(end).toMatchObject({ estimated: true, usage: { input: begin?.reserved.tokens } })
    expect(result.usage).toMatchObject({ input: begin?.reserved.tokens, usd: end?.usd })
    expect((await troupe.runs().all())[0]?.usage.estimated).toBe(true)
  })

  test('U16 an interrupted stream counts at its reservation too', async () => {
    const { troupe, result } = await runTurns([interrupt({ type: 'text', text: 'h' })])
    expect(eventData(await troupe.events(result.run_id).all(), 'model:error')[0]).toMatchObject({ estimated: true })
    expect(result.usage.input).toBeGreaterThan(0)
  })

  test('U17 deltas have agent, key, attempt and offset, and a new attempt restarts at 0', async () => {
    const chunks: ModelChunk[] = [
      { type: 'reasoning', text: 'Hmm. ' },
      { type: 'text', text: 'I see ' },
      { type: 'text', text: 'a tree.' },
      { type: 'finish', stop: 'end' },
    ]
    let tries = 0
    const model = chunkModel(() => (++tries === 1 ? interrupt(...chunks.slice(0, 2)) : chunks))
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { retryPolicy: NO_RETRIES } })
    const items: StreamItem[] = []
    const collect = async (handle: AsyncIterable<StreamItem>) => {
      for await (const item of handle) items.push(item)
    }
    const first = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await collect(first)
    await collect(await troupe.resume(first.run_id))
    const deltas = items.flatMap((item) => ('delta' in item ? [item.delta] : []))
    expect(deltas.map(({ attempt, offset, type, text }) => [attempt, offset, type, text])).toEqual([
      [1, 0, 'reasoning', 'Hmm. '],
      [1, 5, 'text', 'I see '],
      [2, 0, 'reasoning', 'Hmm. '],
      [2, 5, 'text', 'I see '],
      [2, 11, 'text', 'a tree.'],
    ])
    expect(new Set(deltas.map(({ agent }) => agent))).toEqual(new Set(['worker']))
    expect(new Set(deltas.map(({ key }) => key))).toEqual(new Set(['session/turn/1/model']))
    const types = items.map((item) => ('event' in item ? item.event.type : 'delta'))
    expect(types.indexOf('model:begin')).toBeLessThan(types.indexOf('delta'))
    expect(types.lastIndexOf('delta')).toBeLessThan(types.lastIndexOf('model:end'))
  })
})

test('S11 the conversation folded from the journal equals the messages that the model got', async () => {
  const responses: ChunkSource[] = [
    [
      { type: 'reasoning', text: 'r', provider: { signature: 's' } },
      { type: 'text', text: 'T' },
      ...toolCallChunks({ name: 'look' }, { name: 'nope' }),
    ],
    toolCallChunks({ name: 'look', input: 'not json', invalid: 'no' }),
    toolCallChunks({ name: 'look', id: '' }, { name: 'look', id: '' }),
    textChunks(''),
  ]
  for (let choice = 0; choice < responses.length ** 2; choice++) {
    const picked = [responses[choice % 4], responses[Math.floor(choice / 4)]].flatMap((response) =>
      response ? [response] : [],
    )
    const hooks = [{ addContext: () => (choice % 2 ? 'by the way' : undefined) }]
    const { troupe, result, model } = await runTurns([...picked, textChunks('end')], { hooks })
    const events = await troupe.events(result.run_id).all()
    const open = events.find((event) => event.type === 'session:open')
    const last = events.findLast((event) => event.type === 'model:begin')
    if (!isEvent(open, 'session:open') || !last) throw new Error('no session')
    const before = events.filter((event) => event.session_id === open.session_id && event.seq < last.seq)
    const folded = sessionFrom(foldEvents(structuredClone(before)), open.session_id ?? '', open.data)
    expect(folded.messages).toEqual(model.requests.at(-1)?.messages)
    expect([folded.turns, folded.marks]).toEqual([model.requests.length - 1, []])
  }
})

test('U31 after three identical failing calls the agent answers without tools; a call that changes is not stopped', async () => {
  const broken = defineTool({
    ...look,
    input: z.object({ n: z.int() }),
    execute: () => ({ success: false, error: 'out of order' }),
  })
  const again = toolCallChunks({ name: 'look', input: { n: 1 } })
  const stuck = await runTurns([again, again, again, textChunks('It is out of order.')], { tools: [broken] })
  expect(stuck.model.requests.map(({ settings }) => settings.tool_choice)).toEqual([
    undefined,
    undefined,
    undefined,
    'none',
  ])
  expect(stuck.result.output).toMatchObject({ response: 'It is out of order.', stop_reason: 'partial' })
  const counting = chunkModel((request) =>
    request.session.turn <= 6
      ? toolCallChunks({ name: 'look', input: { n: request.session.turn } })
      : textChunks('Done.'),
  )
  const searching = await createTestTroupe({ model: counting, agents: [worker], tools: [broken] })
  expect((await searching.task('worker', 'go')).output).toMatchObject({ response: 'Done.', stop_reason: 'completed' })
})

test('U30 fields that a model leaves out of its usage count as 0', async () => {
  const model = {
    name: 'partial-usage',
    async *stream() {
      yield { type: 'text', text: 'hi' } as const
      yield { type: 'finish', stop: 'end', usage: { input: 3, output: 2 } } as never
    },
  }
  const { troupe, task } = await createTestTroupe({ agents: [agent('lead')], model: model as never })
  expect(await task('lead', 'go')).toMatchObject({
    output: { usage: { input: 3, output: 2, reasoning: 0 } },
    status: 'completed',
    usage: { input: 3, output: 2, cache_read: 0, cache_write: 0 },
  })
  await troupe.close()
})
