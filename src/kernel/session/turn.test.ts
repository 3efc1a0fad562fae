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
import { agent, createTestTroupe, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { StreamItem } from '../../engine/engine.ts'
import type { TroupeOptions } from '../../runtime/troupe-options.ts'
import { isEvent } from '../event.ts'
import type { ModelChunk } from '../model.ts'
import type { PriceBook } from '../price.ts'
import { NO_RETRIES } from '../retry-policy.ts'
import { defineTool } from '../tool.ts'
import { foldSession } from './session-state.ts'

const worker = agent('worker')
const look = defineTool({
  name: 'look',
  description: 'look',
  input: z.object({}),
  category: 'perception',
  kind: 'read',
  execute: () => ({ success: true, output: 'a tree' }),
})

async function plays(answers: ChunkSource[], options: TroupeOptions = {}) {
  const model = chunkModel(chunksByTurn(...answers))
  const staged = await createTestTroupe({
    model,
    agents: [worker],
    tools: [look],
    engine: { retryPolicy: NO_RETRIES },
    ...options,
  })
  const result = await staged.task('worker', 'go')
  return { ...staged, model, result, response: (result.output as { response: string } | null)?.response }
}

async function* cut(...chunks: ModelChunk[]): AsyncGenerator<ModelChunk> {
  yield* chunks
}

const status = (code: number, message: string) => Object.assign(new Error(message), { status: code })

async function* breaking(error: Error, ...chunks: ModelChunk[]): AsyncGenerator<ModelChunk> {
  yield* chunks
  throw error
}

describe('the end of a session', () => {
  test('U7 an empty final text brings one more turn, without tools, that asks for the result in words', async () => {
    const { model, result, response } = await plays([
      toolCallChunks({ name: 'look' }),
      textChunks('  '),
      textChunks('A tree.'),
    ])
    expect([result.stop_reason, response]).toEqual(['completed', 'A tree.'])
    expect(model.requests.map(({ settings }) => settings.tool_choice)).toEqual([undefined, undefined, 'none'])
    expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('Your last message was empty')
  })

  test('U7 empty once more, it ends partial with the last words it had', async () => {
    const words: ModelChunk[] = [{ type: 'text', text: 'Let me look.' }, ...toolCallChunks({ name: 'look' })]
    const { model, result, response } = await plays([words, textChunks(''), textChunks('')])
    expect([result.stop_reason, result.status, response]).toEqual(['partial', 'completed', 'Let me look.'])
    expect(model.requests).toHaveLength(3)
  })

  test('U8 out of turns, it has a last word without tools and ends max_turns with what it said', async () => {
    const busy = agent('worker', { max_turns: 2 })
    const { model, result, response } = await plays(
      [toolCallChunks({ name: 'look' }), toolCallChunks({ name: 'look' }), textChunks('So far.')],
      {
        agents: [busy],
      },
    )
    expect([result.stop_reason, result.status, response]).toEqual(['max_turns', 'completed', 'So far.'])
    expect(model.requests.map(({ settings }) => settings.tool_choice)).toEqual([undefined, undefined, 'none'])
    expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('used all your turns')
  })

  test('U8 the last word may not call tools either: calls in it are not made', async () => {
    const busy = agent('worker', { max_turns: 1 })
    const { model, result, troupe } = await plays([toolCallChunks({ name: 'look' })], { agents: [busy] })
    expect([result.stop_reason, model.requests.length]).toEqual(['max_turns', 2])
    expect(eventData(await troupe.events(result.run_id), 'tool:pre')).toHaveLength(1)
  })

  test('U9 a refusal ends refused, naming the call; an answer cut off by length is kept as partial', async () => {
    const refused = await plays([textChunks('I cannot help with that.', { stop: 'refusal' })])
    expect(refused.result).toMatchObject({ status: 'failed', stop_reason: 'refused', error: { code: 'model_refused' } })
    expect([refused.result.error?.step, refused.response]).toEqual(['session/turn/1/model', 'I cannot help with that.'])
    const long = await plays([textChunks('Once upon a', { stop: 'length' })])
    expect([long.result.status, long.result.stop_reason, long.response]).toEqual([
      'completed',
      'partial',
      'Once upon a',
    ])
  })

  test('U9 a refusal that is asked again after a resume is no part of the conversation', async () => {
    let asked = 0
    const { troupe, result } = await plays([], {
      model: chunkModel(() => (++asked === 1 ? textChunks('No.', { stop: 'refusal' }) : textChunks(`answer ${asked}`))),
    })
    const resumed = await (await troupe.resume(result.run_id)).result
    const { session_id } = resumed.output as { session_id: string }
    const model = chunkModel(() => textChunks('and more'))
    const later = await createTestTroupe({ model, store: troupe.store, agents: [worker] })
    await later.troupe.run('task', { session_id, instruction: 'more' })
    expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(model.requests[0]?.messages[1]?.content).toEqual([{ type: 'text', text: 'answer 2' }])
  })
})

describe('models that misbehave', () => {
  test('U10 a stream that is cut keeps what had arrived; resume asks that call again and repeats nothing else', async () => {
    let looked = 0
    const counting = { ...look, execute: () => ({ success: true, output: ++looked }) }
    let asked = 0
    const model = chunkModel(({ session }) => {
      asked += 1
      if (session.turn === 1) return toolCallChunks({ name: 'look' })
      return asked === 2 ? cut({ type: 'text', text: 'I see a t' }) : textChunks('I see a tree.')
    })
    const { troupe, result } = await plays([], { model, tools: [counting] })
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'stream_interrupted', step: 'session/turn/2/model' },
    })
    expect(result.output).toMatchObject({ response: 'I see a t' })
    expect(eventData(await troupe.events(result.run_id), 'model:error')).toMatchObject([{ partial_text: 'I see a t' }])
    const resumed = await (await troupe.resume(result.run_id)).result
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'I see a tree.' } })
    expect([asked, looked]).toEqual([3, 1])
    expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
    expect(eventData(await troupe.events(result.run_id), 'model:begin').map(({ attempt }) => attempt)).toEqual([
      1, 1, 2,
    ])
  })

  test('U11 a chunk of unknown type is garbage and says so', async () => {
    const odd = { type: 'hologram', text: '?' } as unknown as ModelChunk
    const { result } = await plays([[odd, ...textChunks('x')]])
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
    expect(result.error?.message).toContain('hologram')
  })

  test('U12 calls with the same id, or none, get ids of their own, and each is answered', async () => {
    const twice = toolCallChunks({ name: 'look', id: 'x' }, { name: 'look', id: 'x' }, { name: 'look', id: '' })
    const { model } = await plays([twice, textChunks('done')])
    const [, assistant, answers] = model.requests[1]?.messages ?? []
    const ids = (message: typeof answers) => message?.content.map((part) => ('id' in part ? part.id : ''))
    expect(ids(assistant)).toEqual(['x', 'x~2', 'call'])
    expect(ids(answers)).toEqual(['x', 'x~2', 'call'])
  })

  test('U13 an error of the model fails the run with the step named, and the words that had come are kept', async () => {
    const { result, troupe } = await plays([
      toolCallChunks({ name: 'look' }),
      breaking(status(529, 'overloaded'), { type: 'text', text: 'Well' }),
    ])
    expect(result).toMatchObject({ status: 'failed', stop_reason: 'failed', output: { response: 'Well' } })
    expect(result.error).toMatchObject({ code: 'model_failed', message: 'overloaded', step: 'session/turn/2/model' })
    const [error] = eventData(await troupe.events(result.run_id), 'model:error')
    expect(error).toMatchObject({ usage: { input: 0, output: 0 } })
    expect(error?.estimated).toBeUndefined()
  })

  test('U13 a failed call counts as made after a resume too', async () => {
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

describe('usage and words', () => {
  test('U16 usage that never arrives counts at the reservation and is marked estimated', async () => {
    const prices: PriceBook = { cost: (_model, usage) => (usage.input + usage.output) / 1000 }
    const { troupe, result } = await plays(
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
    const events = await troupe.events(result.run_id)
    const [begin] = eventData(events, 'model:begin')
    const [end] = eventData(events, 'model:end')
    expect(end).toMatchObject({ estimated: true, usage: { input: begin?.reserved.tokens } })
    expect(result.usage).toMatchObject({ input: begin?.reserved.tokens, usd: end?.usd })
    expect((await troupe.runs())[0]?.usage.estimated).toBe(true)
  })

  test('U16 a stream that broke without a word from the provider counts at the reservation as well', async () => {
    const { troupe, result } = await plays([cut({ type: 'text', text: 'h' })])
    expect(eventData(await troupe.events(result.run_id), 'model:error')[0]).toMatchObject({ estimated: true })
    expect(result.usage.input).toBeGreaterThan(0)
  })

  test('U17 words are told as they come, with key, attempt and offset; a new attempt starts over', async () => {
    const chunks: ModelChunk[] = [
      { type: 'reasoning', text: 'Hmm. ' },
      { type: 'text', text: 'I see ' },
      { type: 'text', text: 'a tree.' },
      { type: 'finish', stop: 'end' },
    ]
    let tries = 0
    const model = chunkModel(() => (++tries === 1 ? cut(...chunks.slice(0, 2)) : chunks))
    const { troupe } = await createTestTroupe({ model, agents: [worker], engine: { retryPolicy: NO_RETRIES } })
    const heard: StreamItem[] = []
    const listen = async (handle: AsyncIterable<StreamItem>) => {
      for await (const signal of handle) heard.push(signal)
    }
    const first = await troupe.stream('task', { agent: 'worker', instruction: 'go' })
    await listen(first)
    await listen(await troupe.resume(first.run_id))
    const deltas = heard.flatMap((signal) => ('delta' in signal ? [signal.delta] : []))
    expect(deltas.map(({ attempt, offset, type, text }) => [attempt, offset, type, text])).toEqual([
      [1, 0, 'reasoning', 'Hmm. '],
      [1, 5, 'text', 'I see '],
      [2, 0, 'reasoning', 'Hmm. '],
      [2, 5, 'text', 'I see '],
      [2, 11, 'text', 'a tree.'],
    ])
    expect(new Set(deltas.map(({ key }) => key))).toEqual(new Set(['session/turn/1/model']))
    const places = heard.map((signal) => ('delta' in signal ? 'delta' : signal.event.type))
    expect(places.indexOf('model:begin')).toBeLessThan(places.indexOf('delta'))
    expect(places.lastIndexOf('delta')).toBeLessThan(places.lastIndexOf('model:end'))
  })
})

test('U18 the conversation folded from the journal is the one that the model saw', async () => {
  const shapes: ChunkSource[] = [
    [
      { type: 'reasoning', text: 'r', provider: { signature: 's' } },
      { type: 'text', text: 'T' },
      ...toolCallChunks({ name: 'look' }, { name: 'nope' }),
    ],
    toolCallChunks({ name: 'look', input: 'not json', invalid: 'no' }),
    toolCallChunks({ name: 'look', id: '' }, { name: 'look', id: '' }),
    textChunks(''),
  ]
  for (let choice = 0; choice < shapes.length ** 2; choice++) {
    const picked = [shapes[choice % 4], shapes[Math.floor(choice / 4)]].flatMap((shape) => (shape ? [shape] : []))
    const hooks = [{ addContext: () => (choice % 2 ? 'by the way' : undefined) }]
    const { troupe, result, model } = await plays([...picked, textChunks('end')], { hooks })
    const events = await troupe.events(result.run_id)
    const open = events.find((event) => event.type === 'session:open')
    const last = events.findLast((event) => event.type === 'model:begin')
    if (!isEvent(open, 'session:open') || !last) throw new Error('no session')
    const before = events.filter((event) => event.session_id === open.session_id && event.seq < last.seq)
    const folded = foldSession(open.session_id ?? '', open.data, structuredClone(before))
    expect(folded.messages).toEqual(model.requests.at(-1)?.messages)
    expect([folded.turns, folded.marks]).toEqual([model.requests.length - 1, []])
  }
})
