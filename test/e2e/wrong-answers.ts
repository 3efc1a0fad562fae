import { contributionJson } from '../support/collaboration.ts'
import { startServer } from './mock-provider.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

/* A server whose model never answers as asked: what weak models, wrong chat templates and servers without a tool-call parser send. */

const CONTRIBUTION = contributionJson('yes', 0.9, { concerns: [], questions: [] })

export const WRONG_ANSWERS = {
  empty: '',
  'template marks': '<|im_start|>assistant\n<|system|></s>',
  '10 MB': 'lorem ipsum '.repeat(900_000).slice(0, 10_000_000),
  'another language':
    '我认为应该使用缓存。可信度：０.９。Ja, das sollten wir tun: ９０ Prozent. Nein spricht nichts dafür.',
  'another shape': '{"status":"ok","items":[1,2,3],"meta":{"answer":"yes"}}',
  'JSON in JSON': JSON.stringify(CONTRIBUTION),
  'tool call as text': '<tool_call>{"name":"Read","arguments":{"file_path":"a.txt"}}</tool_call>',
  'tool call as JSON': '```json\n{"tool":"Read","arguments":{"file_path":"a.txt"}}\n```',
} as const

export type WrongAnswer = keyof typeof WRONG_ANSWERS

interface RequestBody {
  response_format?: { json_schema?: { schema?: { properties?: Record<string, unknown> } } }
}

export interface WrongServer {
  url: string
  /** Requests so far. */
  calls: number
  /** The size of the largest request. */
  largest: number
  close(): Promise<void>
}

/** Answers wrongly, or only the requests whose output schema begins with `field`; the others get `right` in turn. */
export async function startWrongServer(
  answer: string,
  right?: { field: string | undefined; answers: readonly string[] },
): Promise<WrongServer> {
  const counts = { calls: 0, largest: 0, right: 0 }
  const encode = RESPONSE_ENCODERS['OpenAI-compatible'] as (response: { text: string }) => string
  const server = await startServer((_request, response, body) => {
    counts.calls += 1
    counts.largest = Math.max(counts.largest, body.length)
    const { response_format } = JSON.parse(body) as RequestBody
    const [field] = Object.keys(response_format?.json_schema?.schema?.properties ?? {})
    const isWrong = !right || field === right.field
    const text = isWrong ? answer : (right.answers[counts.right++ % right.answers.length] ?? '')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(encode({ text }))
  })
  return {
    url: server.url,
    close: server.close,
    get calls() {
      return counts.calls
    },
    get largest() {
      return counts.largest
    },
  }
}
