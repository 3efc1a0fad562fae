import { z } from 'zod'
import type {
  Event,
  EventType,
  Model,
  ModelChunk,
  ModelRequest,
  Pattern,
  PatternResult,
  Store,
} from '../../src/index.ts'
import { definePattern, isEvent } from '../../src/index.ts'
import type { Context } from '../../src/kernel/context.ts'
import type { EventOf } from '../../src/kernel/event.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import { withAbort } from '../../src/kernel/world.ts'
import { MemoryStore } from '../../src/store/memory.ts'

/*
 * What a test moves by hand: models whose every chunk it gives, a store whose commits it holds back, a pattern that is
 * one function.
 */

type Chunks = readonly ModelChunk[]
export type ChunkSource = Chunks | Promise<Chunks> | AsyncIterable<ModelChunk>

const USAGE = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }

/** A model whose chunks a function gives; `asked` keeps every request as it was. */
export function chunkModel(
  play: (request: ModelRequest, signal: AbortSignal) => ChunkSource,
): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    name: 'by-hand',
    requests,
    async *stream(request, signal) {
      requests.push({
        ...request,
        messages: structuredClone(request.messages),
        session: structuredClone(request.session),
      })
      const given = play(request, signal)
      yield* given instanceof Promise ? await withAbort(given, signal) : given
    },
  }
}

/** The chunks of an answer in words. */
export function textChunks(text: string, finish: Partial<Extract<ModelChunk, { type: 'finish' }>> = {}): ModelChunk[] {
  return [
    { type: 'text', text },
    { type: 'finish', stop: 'end', usage: USAGE, ...finish },
  ]
}

/** The chunks of an answer that calls tools. */
export function toolCallChunks(
  ...made: { name: string; input?: unknown; id?: string; invalid?: string }[]
): ModelChunk[] {
  const parts = made.map(
    ({ name, input = {}, id, invalid }, index): ModelChunk => ({
      type: 'tool-call',
      id: id ?? `call_${index}`,
      name,
      input,
      ...(invalid === undefined ? undefined : { invalid }),
    }),
  )
  return [...parts, { type: 'finish', stop: 'tool_calls', usage: USAGE }]
}

/** One list of answers for each session, in turn; the last one is repeated. */
export function chunksByTurn(...answers: ChunkSource[]): (request: ModelRequest) => ChunkSource {
  return ({ session }) => answers[Math.min(session.turn, answers.length) - 1] ?? []
}

export interface PausableStore {
  store: Store
  /** Every append that reached the store, in order. */
  appends: Append[]
  /** From now on commits wait for `release`. */
  pause(): void
  resume(): void
  /** Every later append fails with this; `undefined` ends the trouble. */
  failWith(error: Error | undefined): void
}

/** A store in memory whose commits are held back, or fail, by hand. */
export function pausableStore(): PausableStore {
  const store: Store = new MemoryStore()
  const commit = store.append.bind(store)
  const appends: Append[] = []
  let gate: PromiseWithResolvers<void> | undefined
  let failure: Error | undefined
  const now = (batch: readonly Append[]) => {
    if (failure) throw failure
    return commit(batch) as AppendOutcome[]
  }
  store.append = (batch) => {
    appends.push(...batch)
    return gate ? gate.promise.then(() => now(batch)) : now(batch)
  }
  return {
    store,
    appends,
    pause() {
      gate ??= Promise.withResolvers<void>()
    },
    resume() {
      gate?.resolve()
      gate = undefined
    },
    failWith(error) {
      failure = error
    },
  }
}

/** A pattern that is one function; what it returns is the run's output. */
export function patternFrom(
  name: string,
  work: (context: Context) => Promise<unknown>,
  more: Partial<Pattern> = {},
): Pattern {
  return definePattern<Record<string, unknown>>({
    name,
    description: `${name} of the test`,
    version: 1,
    input: z.record(z.string(), z.unknown()),
    output: z.unknown(),
    category: 'planning',
    delegates: false,
    execute: async (context): Promise<PatternResult> => ({ success: true, output: await work(context) }),
    ...(more as object),
  })
}

/** The data of all events of a type, in order. */
export function eventData<T extends EventType>(events: readonly Event[], type: T): EventOf<T>['data'][] {
  return events.flatMap((event) => (isEvent(event, type) ? [event.data as EventOf<T>['data']] : []))
}

/** Lets everything that is ready go on, and the event loop turn `turns` times. */
export async function flushEventLoop(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
