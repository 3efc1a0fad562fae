/* Server-sent events of provider responses, for a `fetch` without a socket. */

/** Encodes text chunks as the server-sent events of a provider. */
export type ResponseEncoder = (chunks: readonly string[]) => string[]

export const encodeAnthropic: ResponseEncoder = (chunks) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null }
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 120, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...chunks.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: chunks.length },
    },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

export const encodeChatCompletions: ResponseEncoder = (chunks) => {
  const base = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const choice = (delta: object, finish_reason: string | null = null) => ({ index: 0, delta, finish_reason })
  const usage = { prompt_tokens: 120, completion_tokens: chunks.length, total_tokens: 120 + chunks.length }
  const events = [
    { ...base, choices: [choice({ role: 'assistant', content: '' })] },
    ...chunks.map((content) => ({ ...base, choices: [choice({ content })] })),
    { ...base, choices: [choice({}, 'stop')] },
    { ...base, choices: [], usage },
  ]
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n']
}

/** A `fetch` that streams these events one by one and passes each request body to `onRequest`. */
export function streamingFetch(events: readonly string[], onRequest?: (body: string) => void): typeof globalThis.fetch {
  const encoder = new TextEncoder()
  const encoded = events.map((text) => encoder.encode(text))
  return async (_, init) => {
    if (typeof init?.body === 'string') onRequest?.(init.body)
    let next = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = encoded[next++]
        if (chunk) controller.enqueue(chunk.slice())
        else controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** Encodes a response with tool calls. */
export function encodeAnthropicToolCalls(calls: readonly { name: string; input: unknown }[]): string[] {
  const [start, , ...rest] = encodeAnthropic([])
  const blocks = calls.flatMap(({ name, input }, index) => [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id: `toolu_${index}`, name, input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    },
    { type: 'content_block_stop', index },
  ])
  const middle = blocks.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const end = rest.slice(1).map((text) => text.replace('end_turn', 'tool_use'))
  return [start ?? '', ...middle, ...end]
}
