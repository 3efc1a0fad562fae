/** One event of a stream of server-sent events. */
export interface SseEvent {
  id: string | undefined
  event: string
  data: unknown
}

/** Parses server-sent events. Comments (heartbeats) are yielded as events of the type `comment`. */
export async function* parseSse(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) yield parseBlock(block)
  }
}

function parseBlock(block: string): SseEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
    }),
  )
  const data = fields.get('data')
  if (data === undefined) return { id: undefined, event: 'comment', data: undefined }
  return {
    id: fields.get('id'),
    event: fields.get('event') ?? 'message',
    data: data === '[DONE]' ? data : JSON.parse(data),
  }
}

/** Takes the next events of a stream. */
export async function takeSse(events: AsyncIterator<SseEvent>, count: number): Promise<SseEvent[]> {
  const taken: SseEvent[] = []
  while (taken.length < count) {
    const next = await events.next()
    if (next.done) break
    if (next.value.event !== 'comment') taken.push(next.value)
  }
  return taken
}
