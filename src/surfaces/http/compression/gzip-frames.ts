import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'

/*
 * A stream of frames as one gzip file (RFC 1952) of which every frame can be read as soon as it arrives.
 * 1. Each frame is compressed on its own and ends at a byte boundary (`Z_FULL_FLUSH`): it needs nothing of the frames before it, so that one compressed
 *    frame serves all clients, and a client costs no memory but a checksum.
 * 2. Short frames are stored as they are: compressing them alone gains nothing.
 * 3. A stream that ends has its checksum and length; one that breaks off has not, and a client that checks them notices.
 */

const SHORT_BYTES = 200
/** Longer frames, such as snapshots, are compressed on another thread. */
const LONG_BYTES = 64 * 1024
const OPTIONS = { level: 4, flush: constants.Z_FULL_FLUSH, finishFlush: constants.Z_FULL_FLUSH }

const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)
/** An empty final block. */
const END = Uint8Array.of(0x03, 0x00)

const deflate = promisify(deflateRaw) as (frame: Uint8Array, options: typeof OPTIONS) => Promise<Buffer>

/** Compressed frames, for all clients that get them. A frame lives as long as whoever made it keeps it. */
const compressed = new WeakMap<Uint8Array, Uint8Array | Promise<Uint8Array>>()

export class GzipFrames {
  readonly header = HEADER
  #checksum = 0
  #bytes = 0

  /** The compressed frame; a promise for a long one. */
  encode(frame: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const known = compressed.get(frame)
    if (known) return known
    const encoded = encodeFrame(frame)
    compressed.set(frame, encoded)
    if (encoded instanceof Promise)
      encoded.then(
        (result) => compressed.set(frame, result),
        () => compressed.delete(frame),
      )
    return encoded
  }

  /** Counts a frame that is sent, in the order in which frames are sent. */
  count(frame: Uint8Array): void {
    this.#checksum = crc32(frame, this.#checksum)
    this.#bytes = (this.#bytes + frame.byteLength) % 2 ** 32
  }

  /** The last bytes of the stream. */
  end(): Uint8Array {
    const trailer = Buffer.alloc(END.length + 8)
    trailer.set(END)
    trailer.writeUInt32LE(this.#checksum, END.length)
    trailer.writeUInt32LE(this.#bytes, END.length + 4)
    return trailer
  }
}

function encodeFrame(frame: Uint8Array): Uint8Array | Promise<Uint8Array> {
  if (frame.byteLength <= SHORT_BYTES) return storedBlock(frame)
  return frame.byteLength > LONG_BYTES ? deflate(frame, OPTIONS) : deflateRawSync(frame, OPTIONS)
}

/** A block of deflate without compression (RFC 1951, 3.2.4). */
function storedBlock(frame: Uint8Array): Uint8Array {
  const block = Buffer.alloc(5 + frame.byteLength)
  block.writeUInt16LE(frame.byteLength, 1)
  block.writeUInt16LE(~frame.byteLength & 0xffff, 3)
  block.set(frame, 5)
  return block
}
