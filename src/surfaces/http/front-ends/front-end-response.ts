import { toTroupeError } from '../../../errors.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { withoutPaths } from '../checks/error-response.ts'
import type { RouteRequest } from '../routes/route.ts'
import type { SseProducer } from '../streams/sse-connection.ts'
import { connectionOf, sseResponse } from '../streams/sse-response.ts'
import type { RunMessage } from './run-message.ts'
import { RunMessages } from './run-messages.ts'
import { runItems } from './run-stream-items.ts'

export interface FrontEndStream {
  run_id: string
  /** Events up to this seq were told in an earlier response. */
  after?: number
  /** The frames of a message. */
  encode(message: RunMessage): readonly string[]
  /** Frames before all others, and after the last message. */
  first?: readonly string[]
  last?: readonly string[]
  headers?: Readonly<Record<string, string>>
}

/** Streams a run to a front end until it has ended or waits for a person. */
export async function frontEndResponse(request: RouteRequest, stream: FrontEndStream): Promise<Response> {
  const { context, parts } = request
  const { troupe, signal, onError, limits } = parts
  const views = await loadPatternViews(await troupe.patterns())
  const messages = new RunMessages(stream.run_id, views)
  const encoder = new TextEncoder()
  const produce: SseProducer = async (client) => {
    const send = async (frames: readonly string[]) => {
      for (const frame of frames) await client.write(encoder.encode(`data: ${frame}\n\n`))
    }
    const sendMessages = (list: readonly RunMessage[]) => send(list.flatMap((message) => stream.encode(message)))
    await send(stream.first ?? [])
    try {
      for await (const item of runItems(troupe, stream.run_id, client.signal)) {
        const told = messages.add(item)
        const seq = 'event' in item ? item.event.seq : Number.POSITIVE_INFINITY
        if (seq === stream.after) await sendMessages(messages.continue())
        else if (seq > (stream.after ?? 0)) await sendMessages(told)
      }
      if (!client.signal.aborted) await sendMessages(messages.finish())
    } catch (thrown) {
      if (client.signal.aborted) return
      // The protocols have no reconnection by the last id: the client has to learn that this response is over.
      const { code, message } = toTroupeError(thrown)
      onError(toTroupeError(thrown))
      await sendMessages(messages.finish({ code, message: withoutPaths(message) }))
    }
    await send(stream.last ?? [])
  }
  const connection = connectionOf(context, { signal, onError, openStream: limits.openStream })
  return sseResponse(produce, { ...connection, ...(stream.headers ? { headers: stream.headers } : undefined) })
}
