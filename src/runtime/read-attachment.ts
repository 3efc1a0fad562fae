import { TroupeError } from '../errors.ts'
import {
  attachmentTooLargeError,
  createAttachment,
  MAX_ATTACHMENT_BYTES,
} from '../judgement/attachment/attached-file.ts'
import type { Attachment } from '../kernel/attachment.ts'

/** Reads a file for `attachments`: an image, a PDF, or a text file. Its type is detected by its content. */
export async function readAttachment(path: string): Promise<Attachment> {
  const { open } = await import('node:fs/promises')
  const { basename } = await import('node:path')
  try {
    await using file = await open(path, 'r')
    const stats = await file.stat()
    // Reading a pipe or a device might never end.
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > MAX_ATTACHMENT_BYTES) throw attachmentTooLargeError(path, stats.size)
    return createAttachment(basename(path), await file.readFile())
  } catch (thrown) {
    if (thrown instanceof TroupeError) throw thrown
    throw new TroupeError('invalid_input', `the attachment ${path} cannot be read: ${(thrown as Error).message}`, {
      hint: 'check the path of the attachment',
      cause: thrown,
    })
  }
}
