import { fileTokens } from './attachment.ts'
import type { Message } from './model.ts'

/** Upper bound of a message's tokens: the bytes of its JSON, with the estimated tokens of its files in place of their data. */
export function messageTokenBound(message: Message, json: string): number {
  let bound = Buffer.byteLength(json) + 8
  if (message.role !== 'user') return bound
  for (const part of message.content) if (part.type === 'file') bound += fileTokens(part) - part.data.length
  return bound
}
