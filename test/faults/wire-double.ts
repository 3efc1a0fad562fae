import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/* A provider of the OpenAI chat protocol on loopback. It counts what it was asked and what it would charge, and fails as told. */

export interface WireRequest {
  /** The name of the agent, from the last "You are the NAME." in its instructions. */
  agent: string
  /** The number of assistant messages so far, plus one. */
  turn: number
  messages: { role: string; content?: unknown; tool_calls?: unknown }[]
  /** All requests to this server so far, with this one. */
  count: number
}

export interface WireReply {
  text?: string
  calls?: { name: string; input: object }[]
  /** HTTP status of a refusal. */
  status?: number
  /** Breaks the connection: before anything is sent, or after everything was sent. */
  reset?: 'before' | 'after'
  /** Sends everything but `[DONE]`. */
  noDone?: true
  /** Keeps the connection open after the last byte. */
  stayOpen?: true
  /** Sent instead of the answer, as one server-sent event. */
  event?: object
  delayMs?: number
  /** Sends this text again and again, twenty times a second, until the connection is closed. */
  drip?: string
  usage?: { prompt_tokens: number; completion_tokens: number }
}

export interface WireDouble {
  url: string
  /** Environment of a process that uses it as `compatible/MODEL`. */
  env: Record<string, string>
  requests: WireRequest[]
  /** Tokens of all requests that were answered with a response, in full or in part. */
  served: number
  /** Characters of text that were sent piece by piece (`drip`). */
  dripped: number
  reply: (request: WireRequest) => WireReply
  close(): Promise<void>
}

const INPUT_TOKENS = 100
const OUTPUT_TOKENS = 20
const DRIP_MS = 50

export async function startWireDouble(reply: WireDouble['reply']): Promise<WireDouble> {
  const server = createServer((incoming, response) => void handle(incoming, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const double: WireDouble = {
    url,
    env: { TROUPE_COMPATIBLE_BASE_URL: url, TROUPE_COMPATIBLE_API_KEY: 'k' },
    requests: [],
    served: 0,
    dripped: 0,
    reply,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const request = toRequest(JSON.parse(Buffer.concat(chunks).toString()), double.requests.length + 1)
    double.requests.push(request)
    await answer(double, response, double.reply(request))
  }
  return double
}

function toRequest({ messages = [] }: Partial<Pick<WireRequest, 'messages'>>, count: number): WireRequest {
  const contents = messages.flatMap(({ role, content }) => (role === 'assistant' ? [] : JSON.stringify(content ?? '')))
  const [, agent = ''] = [...contents.join('\n').matchAll(/You are the (\w+)\./g)].at(-1) ?? []
  return { agent, turn: messages.filter(({ role }) => role === 'assistant').length + 1, messages, count }
}

async function answer(double: WireDouble, response: ServerResponse, reply: WireReply): Promise<void> {
  if (reply.delayMs) await new Promise((resolve) => setTimeout(resolve, reply.delayMs).unref())
  if (response.destroyed) return
  if (reply.reset === 'before') return void response.socket?.resetAndDestroy()
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ error: { message: `planted ${reply.status}`, type: 'server_error' } }))
  }
  const { usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: OUTPUT_TOKENS } } = reply
  double.served += usage.prompt_tokens + usage.completion_tokens
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (reply.drip !== undefined) return drip(double, response, reply.drip)
  for (const event of reply.event ? [reply.event] : responseEvents(reply, usage)) {
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  if (!reply.noDone) response.write('data: [DONE]\n\n')
  if (reply.reset === 'after') setTimeout(() => response.socket?.resetAndDestroy(), 50)
  else if (!reply.stayOpen) response.end()
}

function drip(double: WireDouble, response: ServerResponse, text: string): void {
  const [piece] = responseEvents({ text }, {})
  const timer = setInterval(() => {
    if (response.closed) return clearInterval(timer)
    response.write(`data: ${JSON.stringify(piece)}\n\n`)
    double.dripped += text.length
  }, DRIP_MS)
}

function responseEvents({ text, calls = [] }: WireReply, usage: object): object[] {
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const tool_calls = calls.map(({ name, input }, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return [
    chunk({ role: 'assistant', ...(text === undefined ? undefined : { content: text }) }, null),
    ...(calls.length > 0 ? [chunk({ tool_calls }, null)] : []),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage },
  ]
}
