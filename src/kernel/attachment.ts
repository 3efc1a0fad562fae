import type { FilePart, Message, TextPart } from './model.ts'

/** A file that a message carries: an image, a PDF, or a text file. */
export interface Attachment {
  name: string
  /** `image/png`, `image/jpeg`, `image/gif`, `image/webp`, `application/pdf`, `application/json`, or a text type. */
  media_type: string
  /** Base64. */
  data: string
}

/** The parts of a message. A text file is sent as text, which every model takes. */
export function attachmentParts(attachments: readonly Attachment[]): (TextPart | FilePart)[] {
  return attachments.map((attachment) => {
    const text = attachmentText(attachment)
    if (text === undefined) return { type: 'file', ...attachment }
    return { type: 'text', text: `<file name=${JSON.stringify(attachment.name)}>\n${text}\n</file>` }
  })
}

/** The content of a text file; `undefined` for images and PDFs. */
export function attachmentText({ media_type, data }: Attachment): string | undefined {
  const isText = media_type.startsWith('text/') || media_type === 'application/json'
  return isText ? Buffer.from(data, 'base64').toString('utf8') : undefined
}

/*
 * Token estimates for the reservation of the budget. Providers scale images down, so their cost has an upper bound; the
 * cost of a PDF depends on its pages, whose number a compressed file does not show.
 */
const IMAGE_TOKENS = 6000
const PDF_PAGE_TOKENS = 5000
const BYTES_PER_PDF_PAGE = 30_000
const MAX_PDF_PAGES = 1000

/** About the most tokens that a file costs as input. */
export function fileTokens({ media_type, data }: FilePart): number {
  if (media_type !== 'application/pdf') return IMAGE_TOKENS
  const pages = Buffer.from(data, 'base64')
    .toString('latin1')
    .match(/\/Type\s*\/Page\b/g)?.length
  return Math.min(pages ?? Math.ceil((data.length * 0.75) / BYTES_PER_PDF_PAGE), MAX_PDF_PAGES) * PDF_PAGE_TOKENS
}

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
