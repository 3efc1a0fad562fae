import { attachmentBytes, describeAttachment } from '../judgement/attachment/attached-file.ts'
import type { Attachment } from '../kernel/attachment.ts'

/** The attachments in the input of a run. */
function attachmentsFrom(input: unknown): Attachment[] {
  const { attachments } = (input ?? {}) as { attachments?: unknown }
  return Array.isArray(attachments) ? attachments.filter(isAttachment) : []
}

function isAttachment(value: unknown): value is Attachment {
  const { media_type, data } = (value ?? {}) as Partial<Attachment>
  return typeof media_type === 'string' && typeof data === 'string'
}

/** The attachments of a run with name, type and size, in one line; empty without attachments. */
export function attachmentLine(input: unknown): string {
  const list = attachmentsFrom(input).map(describeAttachment)
  return list.length === 0 ? '' : `attachments: ${list.join(', ')}`
}

/** The value with the size of each file in place of its data: nobody reads Base64. */
export function withoutFileData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutFileData)
  if (typeof value !== 'object' || value === null) return value
  if (isAttachment(value)) {
    const { data: _, ...rest } = value
    return /^https?:/.test(value.data) ? value : { ...rest, size: attachmentBytes(value) }
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutFileData(part)]))
}
