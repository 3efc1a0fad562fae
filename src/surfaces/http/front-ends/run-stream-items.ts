import type { RunHandle, StreamItem, Troupe } from '../../../index.ts'

/*
 * The items of a run for front ends: with text deltas if this process executes the run and began it for a front end, otherwise its events.
 * A client that leaves does not stop the run.
 */

const handles = new WeakMap<object, Map<string, RunHandle>>()

/** Remembers a run that executes here, so that clients who reconnect get its text deltas. */
export function keepHandle(troupe: Troupe, handle: RunHandle): void {
  const kept = handles.get(troupe) ?? new Map<string, RunHandle>()
  handles.set(troupe, kept)
  kept.set(handle.run_id, handle)
  const forget = () => {
    if (kept.get(handle.run_id) === handle) kept.delete(handle.run_id)
  }
  handle.result.then(forget, forget)
}

/** Yields until the run has ended, waits for a person, or `signal` is aborted. */
export async function* runItems(troupe: Troupe, run_id: string, signal: AbortSignal): AsyncGenerator<StreamItem, void> {
  const handle = handles.get(troupe)?.get(run_id)
  const source = handle ?? watchUntilWaiting(troupe, run_id, signal)
  const items = source[Symbol.asyncIterator]()
  const left = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
  try {
    while (!signal.aborted) {
      const next = await Promise.race([items.next(), left])
      if (!next) return
      if (next.done) break
      yield next.value
    }
    // An error that is in no event, such as a run that this process cannot execute.
    await handle?.result
  } finally {
    // Without waiting: it returns with the next event of the run.
    void items.return?.(undefined)
  }
}

async function* watchUntilWaiting(
  troupe: Troupe,
  run_id: string,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void> {
  for await (const event of troupe.watch(run_id, { signal })) {
    yield { event }
    if (event.type === 'run:park' && (await isWaiting(troupe, run_id, event.seq))) return
  }
}

/** True if nothing came after the event and a question has no answer yet, not even one that nobody has applied. */
async function isWaiting(troupe: Troupe, run_id: string, seq: number): Promise<boolean> {
  const [row, { items }] = await Promise.all([troupe.getRun(run_id), troupe.gates({ run_id })])
  return row.head === seq && items.length > 0 && items.every((gate) => gate.pending_answer_by === undefined)
}
