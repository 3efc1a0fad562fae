/** The kind of content, guessed from the first bytes of a file (magic bytes, NUL bytes, byte order mark). */
export type DetectedContent =
  | { kind: 'text'; encoding: 'utf-8' | 'utf-16le' | 'utf-16be' }
  | { kind: 'image'; media_type: string; width?: number; height?: number }
  | { kind: 'binary'; media_type: string }

/** The number of bytes that `detectContent` needs. */
export const SAMPLE_BYTES = 8192

const MAGIC_BYTES: readonly (readonly [string, readonly number[]])[] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/bmp', [0x42, 0x4d]],
  ['application/pdf', [0x25, 0x50, 0x44, 0x46]],
  ['application/zip', [0x50, 0x4b, 0x03, 0x04]],
  ['application/gzip', [0x1f, 0x8b]],
  ['application/x-elf', [0x7f, 0x45, 0x4c, 0x46]],
  ['application/wasm', [0x00, 0x61, 0x73, 0x6d]],
]

export function detectContent(sample: Buffer): DetectedContent {
  if (sample[0] === 0xff && sample[1] === 0xfe) return { kind: 'text', encoding: 'utf-16le' }
  if (sample[0] === 0xfe && sample[1] === 0xff) return { kind: 'text', encoding: 'utf-16be' }
  const [media_type] = MAGIC_BYTES.find(([, bytes]) => bytes.every((byte, index) => sample[index] === byte)) ?? []
  const isWebp = sample.toString('latin1', 0, 4) === 'RIFF' && sample.toString('latin1', 8, 12) === 'WEBP'
  const image = isWebp ? 'image/webp' : media_type
  if (image?.startsWith('image/') && (image !== 'image/bmp' || sample.includes(0))) {
    return { kind: 'image', media_type: image, ...imageSize(image, sample) }
  }
  if (sample.includes(0)) return { kind: 'binary', media_type: media_type ?? 'application/octet-stream' }
  if (media_type === 'application/pdf') return { kind: 'binary', media_type }
  return { kind: 'text', encoding: 'utf-8' }
}

function imageSize(media_type: string, sample: Buffer): { width?: number; height?: number } {
  if (media_type === 'image/png' && sample.length >= 24) {
    return { width: sample.readUInt32BE(16), height: sample.readUInt32BE(20) }
  }
  if (media_type === 'image/gif' && sample.length >= 10) {
    return { width: sample.readUInt16LE(6), height: sample.readUInt16LE(8) }
  }
  return {}
}

/** Decodes UTF-8, or returns `undefined` for invalid bytes: writing the decoded text back would corrupt the file. */
export function decodeUtf8Strict(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
