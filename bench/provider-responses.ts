/* What a provider streams over the wire for one answer, as its own package reads it: no socket, no server. */

/** How a provider writes an answer of these pieces. */
export type ResponseEncoder = (pieces: readonly string[]) => string[]

export const encodeAnthropic: ResponseEncoder = (pieces) => {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'm', stop_reason: null }
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 120, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: pieces.length },
    },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

export const encodeChatCompletions: ResponseEncoder = (pieces) => {
  const about = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const choice = (delta: object, finish_reason: string | null = null) => ({ index: 0, delta, finish_reason })
  const usage = { prompt_tokens: 120, completion_tokens: pieces.length, total_tokens: 120 + pieces.length }
  const events = [
    { ...about, choices: [choice({ role: 'assistant', content: '' })] },
    ...pieces.map((content) => ({ ...about, choices: [choice({ content })] })),
    { ...about, choices: [choice({}, 'stop')] },
    { ...about, choices: [], usage },
  ]
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n']
}

/** A `fetch` that streams this answer, one piece after the other, and hands each request's body to `sent`. */
export function streamingFetch(texts: readonly string[], sent?: (body: string) => void): typeof globalThis.fetch {
  const encoder = new TextEncoder()
  const bytes = texts.map((text) => encoder.encode(text))
  return async (_, init) => {
    if (typeof init?.body === 'string') sent?.(init.body)
    let next = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = bytes[next++]
        if (piece) controller.enqueue(piece.slice())
        else controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** An answer of Claude that calls tools. */
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
  const written = blocks.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const end = rest.slice(1).map((text) => text.replace('end_turn', 'tool_use'))
  return [start ?? '', ...written, ...end]
}
