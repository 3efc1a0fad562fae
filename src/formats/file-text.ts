import { open, stat } from 'node:fs/promises'

/** More than any agent needs; beyond it a file is a mistake, or a trap. */
export const MAX_TEXT_FILE_BYTES = 1024 * 1024
const HEAD_BYTES = 4096

export interface FileText {
  text: string
  /** False when some bytes are no UTF-8; they were replaced. */
  isValidUtf8: boolean
}

/** The text of a file; `undefined` when it is no text, or when its beginning is not `wanted`. */
export async function readTextFile(
  path: string,
  wanted: (head: string) => boolean,
): Promise<FileText | 'too large' | undefined> {
  // Opening a pipe would wait for whoever writes into it.
  if (!(await stat(path)).isFile()) return undefined
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size))
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    if (!wanted(decodeText(head.subarray(0, bytesRead)).text)) return undefined
    if (size > MAX_TEXT_FILE_BYTES) return 'too large'
    const read = decodeText(await file.readFile())
    return read.text.includes('\0') ? undefined : read
  } finally {
    await file.close()
  }
}

/** Text in UTF-8, or in UTF-16 where a byte order mark says so. */
function decodeText(bytes: Uint8Array): FileText {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return { text: new TextDecoder('utf-16le').decode(bytes), isValidUtf8: true }
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return { text: new TextDecoder('utf-16be').decode(bytes), isValidUtf8: true }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), isValidUtf8: true }
  } catch {
    return { text: new TextDecoder().decode(bytes), isValidUtf8: false }
  }
}
