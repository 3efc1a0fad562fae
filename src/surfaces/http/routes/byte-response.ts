const PART_BYTES = 64 * 1024

/** A download, sent as the client takes it: what waits for a slow client is one part of it. */
export function byteResponse(bytes: Uint8Array, headers: Readonly<Record<string, string>>): Response {
  return new Response(partsOf(bytes), { headers: { ...headers, 'content-length': String(bytes.byteLength) } })
}

function partsOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sent < bytes.byteLength) controller.enqueue(bytes.subarray(sent, sent + PART_BYTES))
        sent += PART_BYTES
        if (sent >= bytes.byteLength) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
