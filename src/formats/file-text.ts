import { open, stat } from 'node:fs/promises'

/** More than any agent needs; beyond it a file is a mistake, or a trap. */
export const MOST_BYTES = 1024 * 1024
const HEAD = 4096

export interface FileText {
  text: string
  /** False when some bytes are no UTF-8; they were replaced. */
  valid: boolean
}

/** The text of a file; `undefined` when it is no text, or when its beginning is not `wanted`. */
export async function readText(
  path: string,
  wanted: (head: string) => boolean,
): Promise<FileText | 'too large' | undefined> {
  // Opening a pipe would wait for whoever writes into it.
  if (!(await stat(path)).isFile()) return undefined
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(Math.min(HEAD, size))
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    if (!wanted(decoded(head.subarray(0, bytesRead)).text)) return undefined
    if (size > MOST_BYTES) return 'too large'
    const read = decoded(await file.readFile())
    return read.text.includes('\0') ? undefined : read
  } finally {
    await file.close()
  }
}

/** Text in UTF-8, or in UTF-16 where a byte order mark says so. */
function decoded(bytes: Uint8Array): FileText {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes), valid: true }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes), valid: true }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), valid: true }
  } catch {
    return { text: new TextDecoder().decode(bytes), valid: false }
  }
}
