import * as z from '../../../schema/zod.ts'
import type { Route, RouteRequest } from '../routes/route.ts'
import { defineRoute } from '../routes/route.ts'
import type { ChatText } from './conversation-input.ts'
import { conversationText, startFromChat } from './conversation-input.ts'
import { frontEndResponse } from './front-end-response.ts'
import { UiMessageChunks } from './ui-message-chunks.ts'

const HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' }
const DESCRIPTION = 'Chunks of one UI message. The run goes on when the client disconnects.'
const SSE = 'text/event-stream'

const id = z.string().min(1).max(150)
const part = z.looseObject({ type: z.string().max(200), text: z.string().optional() })
const uiMessage = z.looseObject({ role: z.enum(['system', 'user', 'assistant']), parts: z.array(part).max(10_000) })

const startRun = defineRoute('POST', '/api/ui-message-stream/:pattern', {
  summary: 'Start a run from a chat of the AI SDK (`DefaultChatTransport`) and stream it as a UI message.',
  tag: 'front ends',
  scope: 'run',
  body: z.looseObject({
    id: id.optional(),
    messages: z.array(uiMessage).min(1).max(1000),
    input: z.record(z.string(), z.unknown()).optional(),
  }),
  response: { description: DESCRIPTION, type: SSE },
  async handle(request) {
    const { messages, input = {}, id: thread } = request.body
    const text = () => conversationText(messages.map(chatText))
    const { run_id } = await startFromChat(request, input, { text, thread })
    return uiMessageResponse(request, run_id)
  },
})

const reconnect = defineRoute('GET', '/api/ui-message-stream/runs/:run_id', {
  summary: 'Stream a run as a UI message from its beginning, for a chat that lost its connection.',
  tag: 'front ends',
  scope: 'read',
  response: { description: DESCRIPTION, type: SSE },
  async handle(request) {
    const { run_id } = await request.parts.troupe.getRun(request.params.run_id ?? '')
    return uiMessageResponse(request, run_id)
  },
})

function chatText({ role, parts }: z.output<typeof uiMessage>): ChatText {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
  return { role, text: texts.join('\n') }
}

function uiMessageResponse(request: RouteRequest, run_id: string): Promise<Response> {
  const chunks = new UiMessageChunks()
  return frontEndResponse(request, {
    run_id,
    headers: HEADERS,
    encode: (message) => chunks.add(message).map((chunk) => JSON.stringify(chunk)),
    last: ['[DONE]'],
  })
}

export const uiMessageRoutes: readonly Route[] = [startRun, reconnect]
