import { TroupeError } from '../../errors.ts'

/** A file that a message carries: an image, a PDF, or a text file. `data` is Base64. */
export interface AttachedFile {
  name: string
  media_type: string
  data: string
}

const MB = 1024 * 1024
const MAX_ATTACHMENTS = 20
const MAX_TOTAL_BYTES = 20 * MB
/** The smallest limits among the providers. */
const MAX_IMAGE_BYTES = 5 * MB
const MAX_PDF_BYTES = 10 * MB
const MAX_TEXT_BYTES = MB

export const MAX_ATTACHMENT_BYTES = MAX_PDF_BYTES
const SUPPORTED = 'PNG, JPEG, GIF and WebP images, PDF, and text files in UTF-8'

/** The media type by the content, never by the name; `undefined` if it is not supported. */
export function attachmentMediaType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (start.startsWith('\x89PNG\r\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('GIF8')) return 'image/gif'
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp'
  if (start.startsWith('%PDF-')) return 'application/pdf'
  return decodeText(bytes) === undefined ? undefined : 'text/plain'
}

/** An attachment of these bytes. Throws `invalid_input` for another type, `too_large` above the limits. */
export function createAttachment(name: string, bytes: Uint8Array): AttachedFile {
  const media_type = attachmentMediaType(bytes)
  if (media_type === undefined) throw unsupportedError(name)
  const attachment = { name, media_type, data: Buffer.from(bytes).toString('base64') }
  checkAttachment(attachment)
  return attachment
}

export function checkAttachments(attachments: readonly AttachedFile[]): void {
  if (attachments.length > MAX_ATTACHMENTS) {
    throw new TroupeError('too_large', `${attachments.length} \`attachments\` are more than ${MAX_ATTACHMENTS}`, {
      hint: `pass at most ${MAX_ATTACHMENTS} \`attachments\` with one message`,
    })
  }
  for (const attachment of attachments) checkAttachment(attachment)
  const total = totalBytes(attachments)
  if (total > MAX_TOTAL_BYTES) {
    throw new TroupeError('too_large', `the \`attachments\` have ${formatBytes(total)}, more than 20 MB together`, {
      hint: 'pass fewer or smaller `attachments`, or send them with several messages',
    })
  }
}

/** Whether there are few and small enough attachments for one message. */
export function isWithinAttachmentLimits(attachments: readonly AttachedFile[]): boolean {
  return attachments.length <= MAX_ATTACHMENTS && totalBytes(attachments) <= MAX_TOTAL_BYTES
}

function totalBytes(attachments: readonly AttachedFile[]): number {
  return attachments.reduce((sum, attachment) => sum + attachmentBytes(attachment), 0)
}

function checkAttachment(attachment: AttachedFile): void {
  const { name, media_type, data } = attachment
  if (data === '' || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) {
    const reason = data === '' ? 'is empty' : 'is not Base64'
    throw new TroupeError('invalid_input', `\`attachments\`: the data of '${name}' ${reason}`, {
      hint: 'set `data` to the content of the file in Base64',
    })
  }
  const bytes = Buffer.from(data, 'base64')
  const detected = attachmentMediaType(bytes)
  if (detected === undefined) throw unsupportedError(name)
  const fits = isText(media_type) ? detected === 'text/plain' : detected === media_type
  if (!fits) {
    throw new TroupeError('invalid_input', `\`attachments\`: '${name}' is ${detected}, not ${media_type}`, {
      hint: `set \`media_type\` to '${detected}'`,
    })
  }
  const max = isText(media_type) ? MAX_TEXT_BYTES : media_type === 'application/pdf' ? MAX_PDF_BYTES : MAX_IMAGE_BYTES
  if (bytes.length > max) throw attachmentTooLargeError(name, bytes.length, max)
}

export function attachmentTooLargeError(name: string, bytes: number, max = MAX_ATTACHMENT_BYTES): TroupeError {
  return new TroupeError(
    'too_large',
    `'${name}' has ${formatBytes(bytes)}; at most ${formatBytes(max)} can be attached`,
    {
      hint: 'shrink the file, or put it into the workspace, where agents read it with tools, and remove it from `attachments`',
    },
  )
}

function unsupportedError(name: string): TroupeError {
  return new TroupeError('invalid_input', `'${name}' cannot be attached: its type is not supported`, {
    hint: `\`attachments\` take ${SUPPORTED}`,
  })
}

export function attachmentBytes({ data }: Pick<AttachedFile, 'data'>): number {
  return Math.floor((data.length * 3) / 4) - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0)
}

/** `a.png (image/png, 12 KB)` */
export function describeAttachment(attachment: AttachedFile): string {
  return `${attachment.name} (${attachment.media_type}, ${formatBytes(attachmentBytes(attachment))})`
}

function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < MB ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / MB).toFixed(1)} MB`
}

function isText(media_type: string): boolean {
  return media_type.startsWith('text/') || media_type === 'application/json'
}

function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
