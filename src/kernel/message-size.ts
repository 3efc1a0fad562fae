import { fileTokens } from './attachment.ts'
import type { FilePart, Message } from './model.ts'

/** Upper bound of a message's tokens: the bytes of its JSON, with the estimated tokens of its files in place of their data. */
export function messageTokenBound(message: Message, json: string): number {
  let bound = Buffer.byteLength(json) + 8
  for (const file of filesOf(message)) bound += fileTokens(file) - file.data.length
  return bound
}

function filesOf(message: Message): FilePart[] {
  if (message.role === 'user') return message.content.filter((part) => part.type === 'file')
  return message.role === 'tool' ? message.content.flatMap(({ files = [] }) => files) : []
}
