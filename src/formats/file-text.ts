import { open, stat } from 'node:fs/promises'

/** Limits memory use: a larger file is not a legitimate agent or team file. */
export const MAX_TEXT_FILE_BYTES = 1024 * 1024
const HEAD_BYTES = 4096

export interface FileText {
  text: string
  /** False when invalid UTF-8 bytes were replaced. */
  isValidUtf8: boolean
}

/** Reads a text file; `undefined` when it is binary or `acceptsHead` rejects its beginning. */
export async function readTextFile(
  path: string,
  acceptsHead: (head: string) => boolean,
): Promise<FileText | 'too large' | undefined> {
  // Opening a named pipe would block until a writer appears.
  if (!(await stat(path)).isFile()) return undefined
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size))
    const { bytesRead } = await file.read(head, 0, head.length, 0)
    if (!acceptsHead(decodeText(head.subarray(0, bytesRead)).text)) return undefined
    if (size > MAX_TEXT_FILE_BYTES) return 'too large'
    const content = decodeText(await file.readFile())
    return content.text.includes('\0') ? undefined : content
  } finally {
    await file.close()
  }
}

/** Decodes UTF-8, or UTF-16 with a byte order mark. */
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

/** A problem in a file: after a warning the definition is still used, after an error it is not. */
export interface Problem {
  level: 'error' | 'warning'
  line: number
  message: string
  hint?: string
}

/** A problem with its file and, if known, the agent it concerns. */
export interface FileProblem extends Problem {
  path: string
  agent?: string
}

export function lineWarning(line: number, message: string): Problem {
  return { level: 'warning', line, message }
}
