/*
 * The chat protocol ends a response with `data: [DONE]`. The connection means nothing after that: a proxy may reset it, which would
 * throw a complete and paid answer away, and a server that keeps it open would stall the run.
 */

type Fetch = typeof globalThis.fetch

const END = 'data: [DONE]'
/** The last chunks before the end: a reason to finish, and the usage. */
const FINISH = /"finish_reason"\s*:\s*"\w+"/
const USAGE = /"usage"\s*:\s*\{/

/** Wraps `fetch` so that an event stream ends with `[DONE]`, or with a lost connection after its finish reason and usage. */
export function endAtDone(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    return response.ok && response.body ? new Response(untilDone(response.body), response) : response
  }
}

function untilDone(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  // A line may be split between two reads; an answer cannot contain it, because JSON escapes line breaks.
  let tail = '\n'
  let [hasFinish, hasUsage] = [false, false]
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        controller.enqueue(value)
        const text = tail + decoder.decode(value, { stream: true })
        hasFinish ||= FINISH.test(text)
        hasUsage ||= USAGE.test(text)
        if (!text.includes(`\n${END}`)) {
          tail = text.slice(-MAX_SPLIT)
          return
        }
        controller.close()
        void reader.cancel().catch(() => {})
      } catch (thrown) {
        if (hasFinish && hasUsage) controller.close()
        else controller.error(thrown)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Longer than a part of the stream that is looked for. */
const MAX_SPLIT = 64
