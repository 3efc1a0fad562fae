import type { JsonSchema, RunHandle } from '../../../index.ts'
import { refuse } from '../checks/refusal.ts'
import type { RouteRequest } from '../routes/route.ts'
import { findStartable, leaveRunning, startPattern } from '../routes/start-pattern.ts'
import { keepHandle } from './run-stream-items.ts'

/** A message of a chat front end, with its text. */
export interface ChatText {
  role: string
  text: string
}

const MAX_HISTORY_MESSAGES = 50
const MAX_HISTORY_LENGTH = 100_000

/** The instruction: the last message, after those before it. */
export function conversationText(messages: readonly ChatText[]): string {
  const last = messages.at(-1)
  if (last?.role !== 'user' || last.text.trim() === '') {
    throw refuse(400, {
      code: 'invalid_input',
      message: 'messages: the last message is not one of the user with text',
      hint: 'only text is supported; send what the run should do as the last message',
    })
  }
  const spoken = messages.slice(0, -1).filter(({ role, text }) => ['user', 'assistant'].includes(role) && text !== '')
  if (spoken.length === 0) return last.text
  const lines = spoken.slice(-MAX_HISTORY_MESSAGES).map(({ role, text }) => `${role}: ${text}`)
  while (lines.length > 1 && lines.join('').length > MAX_HISTORY_LENGTH) lines.shift()
  return `Conversation so far:\n\n${lines.join('\n\n')}\n\nNow:\n\n${last.text}`
}

/**
 * Starts a run of the pattern in the path. `text` is the instruction. Clients that reconnect get its text deltas, if the run is begun here.
 */
export async function startFromChat(
  { parts, params: { pattern = '' } }: RouteRequest,
  given: Readonly<Record<string, unknown>>,
  { text, thread }: { text: () => string; thread: string | undefined },
): Promise<RunHandle> {
  const { inputSchema } = await findStartable(parts, pattern)
  const input = withInstruction(inputSchema, given, text())
  const tags = thread === undefined ? undefined : [`thread:${thread}`]
  const handle = await startPattern(parts, { pattern, input, tags })
  leaveRunning(parts, handle)
  keepHandle(parts.troupe, handle)
  return handle
}

/** The input with the text in the first required text field that the request does not give. Without one, the input must be complete. */
function withInstruction(schema: JsonSchema, given: Readonly<Record<string, unknown>>, text: string): unknown {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, { type?: string; enum?: unknown }>
    required?: readonly string[]
  }
  const field = required.find((name) => {
    const property = properties[name]
    return property?.type === 'string' && property.enum === undefined && !(name in given)
  })
  return field === undefined ? given : { ...given, [field]: text }
}
