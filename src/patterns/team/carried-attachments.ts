import { isWithinAttachmentLimits } from '../../judgement/attachment/attached-file.ts'
import type { Attachment } from '../../kernel/attachment.ts'

/** The messages without the oldest attachments, so that the rest fits into one input together with those of `request`. */
export function dropOldestAttachments<M extends { attachments?: readonly Attachment[] }>(
  messages: readonly M[],
  request: readonly Attachment[],
): M[] {
  const kept = [...request]
  return messages
    .toReversed()
    .map((message) => {
      const { attachments = [], ...rest } = message
      if (attachments.length === 0) return message
      if (!isWithinAttachmentLimits([...kept, ...attachments])) return rest as M
      kept.push(...attachments)
      return message
    })
    .toReversed()
}
