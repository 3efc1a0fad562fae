import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as it went over the wire, and its reply. */
export interface WireCall {
  messages: { role: string; content: string }[]
  /** The fields of the requested JSON; empty for plain text. */
  fields: string[]
  tools: number
  /** 0 for a request without a reply. */
  status: number
  reply: string
  input: number
  output: number
  seconds: number
}

export interface WireLog {
  url: string
  calls: WireCall[]
  close(): Promise<void>
}

interface RequestBody {
  messages?: { role: string; content?: unknown }[]
  tools?: unknown[]
  response_format?: { json_schema?: { schema?: { properties?: object } } }
}

/** Forwards chat completions to a server and keeps requests and replies. */
export async function startWireLog(baseUrl: string): Promise<WireLog> {
  const calls: WireCall[] = []
  const server = createServer((request, response) => {
    forward(baseUrl, calls, { request, response }).catch((error: unknown) => {
      response.writeHead(502, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: String(error) } }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

async function forward(baseUrl: string, calls: WireCall[], { request, response }: Exchange): Promise<void> {
  const body = await readText(request)
  const started = performance.now()
  const path = (request.url ?? '').replace(/^\/v1/, '')
  const aborted = new AbortController()
  response.on('close', () => aborted.abort())
  const init = request.method === 'POST' ? { method: 'POST', body } : { method: 'GET' }
  const headers = { 'content-type': 'application/json' }
  const { messages = [], tools = [], response_format } = (body === '' ? {} : JSON.parse(body)) as RequestBody
  const call: WireCall = {
    messages: messages.map(({ role, content }) => ({ role, content: toText(content) })),
    fields: Object.keys(response_format?.json_schema?.schema?.properties ?? {}),
    tools: tools.length,
    ...{ status: 0, reply: '', input: 0, output: 0, seconds: 0 },
  }
  // Before the reply: a request that is aborted or fails was sent, too.
  if (request.method === 'POST') calls.push(call)
  const forwarded = await fetch(`${baseUrl}${path}`, { ...init, headers, signal: aborted.signal })
  const reply = await forwarded.text()
  const seconds = (performance.now() - started) / 1000
  Object.assign(call, { status: forwarded.status, ...parseReply(reply), seconds })
  response.writeHead(forwarded.status, { 'content-type': forwarded.headers.get('content-type') ?? 'application/json' })
  response.end(reply)
}

interface ReplyChunk {
  choices?: { delta?: { content?: string }; message?: { content?: string } }[]
  usage?: { prompt_tokens?: number; completion_tokens?: number }
}

/** The text and usage of a reply, streamed or not. */
function parseReply(text: string): Pick<WireCall, 'reply' | 'input' | 'output'> {
  const lines = text.split('\n').flatMap((line) => (/^data: \{/.test(line) ? [line.slice(6)] : []))
  const chunks = (lines.length > 0 ? lines : [text]).flatMap((line) => parseChunk(line) ?? [])
  const contents = chunks.flatMap(({ choices = [] }) =>
    choices.map(({ delta, message }) => delta?.content ?? message?.content ?? ''),
  )
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage
  return { reply: contents.join(''), input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 }
}

function parseChunk(line: string): ReplyChunk | undefined {
  try {
    return JSON.parse(line) as ReplyChunk
  } catch {
    return undefined
  }
}

function toText(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}
