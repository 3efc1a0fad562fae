import type { UIMessage, UIMessageChunk } from 'ai'
import { DefaultChatTransport, readUIMessageStream } from 'ai'
import { afterEach, describe, expect, test } from 'vitest'
import type { TestHttpServer } from '../../../../test/support/front-end-server.ts'
import { startTestHttpServer } from '../../../../test/support/front-end-server.ts'
import { agents, createTestTroupe, modelFromRules, taskCall } from '../../../../test/support/test-troupe.ts'
import type { Model } from '../../../entries/models.ts'
import type { Troupe } from '../../../index.ts'

/* With the client of the AI SDK: the transport of `useChat`, and the function that puts messages together. */

const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

interface Setup {
  troupe: Troupe
  server: TestHttpServer
  transport: DefaultChatTransport<UIMessage>
  /** Sends a message as a chat does. */
  send(text?: string): Promise<ReadableStream<UIMessageChunk>>
  reconnect(run_id: string): Promise<UIMessage>
}

async function setUp(rules: Record<string, unknown>[], pattern = 'task', model?: Model): Promise<Setup> {
  const { troupe } = await createTestTroupe({ agents, ...(model ? { model } : { rules }) })
  const server = await startTestHttpServer(troupe)
  open.push(
    () => troupe.close(),
    () => server.close(),
  )
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${server.url}/api/ui-message-stream/${pattern}`,
    headers: await server.headers(),
    body: { input: { agent: 'lead' } },
    prepareReconnectToStreamRequest: ({ id, headers }) => ({
      api: `${server.url}/api/ui-message-stream/runs/${id}`,
      ...(headers ? { headers } : {}),
    }),
  })
  return {
    troupe,
    server,
    transport,
    send: (text = 'Build it.') =>
      transport.sendMessages({
        chatId: 'c1',
        messageId: undefined,
        trigger: 'submit-message',
        abortSignal: undefined,
        messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }],
      }),
    async reconnect(run_id) {
      const stream = await transport.reconnectToStream({ chatId: run_id })
      if (!stream) throw new Error('no stream')
      return (await readMessage(stream)).message
    },
  }
}

/** The message at the end, with all its states in between. */
async function readMessage(stream: ReadableStream<UIMessageChunk>) {
  const states: UIMessage[] = []
  const errors: unknown[] = []
  for await (const state of readUIMessageStream({ stream, onError: (error) => void errors.push(error) }))
    states.push(state)
  const message = states.at(-1)
  if (!message) throw new Error('no message')
  return { message, states, errors }
}

async function readChunks(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const textOf = ({ parts }: UIMessage) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('|')
const longText = 'The plan has many words. '.repeat(20).trim()

describe('the UI message stream', () => {
  test('HT22 a run is one message: text as it is written, calls with their results, and sub-agents as data', async () => {
    const scripted = modelFromRules(
      { when: { agent: 'lead', turn: 1 }, reply: { text: longText, toolCalls: [taskCall('coder', 'Write it.')] } },
      { when: { agent: 'coder' }, reply: { text: 'Written.' } },
      { reply: { text: 'Done.' } },
    )
    const connected = Promise.withResolvers<void>()
    const model: Model = {
      name: 'scripted',
      async *stream(request, signal) {
        await connected.promise
        yield* scripted.stream(request, signal)
      },
    }
    const { send, troupe } = await setUp([], 'task', model)
    const onChunk = new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, controller) {
        connected.resolve()
        controller.enqueue(chunk)
      },
    })
    const { message, states, errors } = await readMessage((await send()).pipeThrough(onChunk))
    expect(errors).toEqual([])
    expect(textOf(message)).toBe(`${longText}|Done.`)
    expect(new Set(states.map(textOf)).size).toBeGreaterThan(4)
    const run_id = (message.metadata as { run_id: string }).run_id
    expect(message).toMatchObject({ id: run_id, role: 'assistant', metadata: { status: 'completed' } })
    expect(message.parts.find(({ type }) => type === 'dynamic-tool')).toMatchObject({
      toolName: 'task',
      state: 'output-available',
      input: { agent: 'coder' },
      output: { response: 'Written.' },
    })
    expect(message.parts.filter(({ type }) => type === 'data-agent')).toMatchObject([
      { data: { agent: 'coder', status: 'completed', text: 'Written.' } },
    ])
    expect(message.parts.every((part) => part.type !== 'text' || part.state === 'done')).toBe(true)
    expect((await troupe.getRun(run_id)).tags).toEqual(['thread:c1'])
  })

  test('HT23 a chat that reconnects gets the whole message, while the run works and after its end', async () => {
    const { send, reconnect, transport, troupe } = await setUp([
      { when: { agent: 'lead', turn: 1 }, reply: { text: longText, toolCalls: [taskCall('coder', 'Write it.')] } },
      { when: { agent: 'coder' }, reply: { text: 'Written.', delayMs: 200 } },
      { reply: { text: 'Done.' } },
    ])
    const stream = await send()
    const reader = stream.getReader()
    const first = await reader.read()
    const run_id = (first.value as { messageId: string }).messageId
    await reader.cancel()
    const live = await reconnect(run_id)
    const later = await reconnect(run_id)
    expect(textOf(live)).toBe(`${longText}|Done.`)
    expect(later).toEqual(live)
    expect((await troupe.runs()).items).toHaveLength(1)
    await expect(transport.reconnectToStream({ chatId: 'r_unknown' })).rejects.toThrow(/no such run/)
  })

  test('HT24 a question is a data part; after its answer, reconnecting goes on', async () => {
    const question = { name: 'ask_user', input: { question: 'Which colour?', choices: ['red', 'blue'] } }
    const { send, reconnect, troupe } = await setUp([
      { when: { turn: 1 }, reply: { toolCalls: [question] } },
      { reply: { text: 'Painted.' } },
    ])
    const { message } = await readMessage(await send())
    const gate = { question: 'Which colour?', choices: ['red', 'blue'], status: 'open' }
    expect(message.parts.find(({ type }) => type === 'data-gate')).toMatchObject({ data: gate })
    expect(message.metadata).toMatchObject({ status: 'waiting' })
    const waiting = await reconnect(message.id)
    expect(waiting).toEqual(message)
    const [open_gate] = (await troupe.gates()).items
    const handle = await troupe.answer(open_gate?.gate_id ?? '', 'red', { by: 'ada' })
    const ended = await reconnect(message.id)
    await handle.result
    expect(ended.parts.filter(({ type }) => type === 'data-gate')).toMatchObject([
      { data: { ...gate, status: 'answered', answer: 'red', answered_by: 'ada' } },
    ])
    expect(textOf(ended)).toBe('Painted.')
    expect(ended.metadata).toMatchObject({ status: 'completed' })
  })

  test('HT22 a run that fails ends with an error, and one that is cancelled with an abort', async () => {
    const failing = await setUp([{ reply: { error: { status: 401, message: 'no key' } } }])
    const chunks = await readChunks(await failing.send())
    expect(chunks.slice(-2)).toMatchObject([
      { type: 'error', errorText: expect.stringMatching(/no key/) },
      { type: 'finish', finishReason: 'error' },
    ])
    const slow = await setUp([{ reply: { text: 'x', delayMs: 60_000 } }])
    const stream = await slow.send()
    const reader = stream.getReader()
    const first = await reader.read()
    reader.releaseLock()
    await slow.troupe.cancel((first.value as { messageId: string }).messageId, 'enough')
    expect((await readChunks(stream)).at(-1)).toMatchObject({ type: 'abort' })
  })

  test('HT22 a failed call is a part with an error', async () => {
    const { send } = await setUp([
      { when: { turn: 1 }, reply: { toolCalls: [taskCall('nobody', 'x')] } },
      { reply: { text: 'Alone, then.' } },
    ])
    const { message } = await readMessage(await send())
    expect(message.parts.find(({ type }) => type === 'dynamic-tool')).toMatchObject({
      state: 'output-error',
      errorText: expect.stringMatching(/nobody/),
    })
  })

  test('HT21 wrong requests are refused with a reason', async () => {
    const { send } = await setUp([{ reply: { text: 'x' } }])
    await expect(send('')).rejects.toThrow(/last message/)
    const unknown = await setUp([{ reply: { text: 'x' } }], 'nothing')
    await expect(unknown.send()).rejects.toThrow(/no such pattern/)
  })
})
