import { z } from 'zod'
import type { Model, ModelChunk, ModelRequest } from '../../src/entries/models.ts'
import type { Pattern, PatternResult } from '../../src/entries/patterns.ts'
import { definePattern } from '../../src/entries/patterns.ts'
import type { Event, Store } from '../../src/index.ts'
import type { Context } from '../../src/kernel/context.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import { withAbort } from '../../src/kernel/world.ts'
import type { CollaborateEvent } from '../../src/patterns/collaborate/events.ts'
import type { TeamEvent } from '../../src/patterns/team/events.ts'
import { memoryStore } from './memory-store.ts'

/* Test doubles under manual control: a model that streams given chunks, a store with pausable commits, a one-function pattern. */

type Chunks = readonly ModelChunk[]
export type ChunkSource = Chunks | Promise<Chunks> | AsyncIterable<ModelChunk>

const USAGE = { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }

/** Model whose chunks come from a function; `requests` records a copy of every request. */
export function chunkModel(
  respond: (request: ModelRequest, signal: AbortSignal) => ChunkSource,
): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    name: 'manual',
    requests,
    async *stream(request, signal) {
      requests.push({
        ...request,
        messages: structuredClone(request.messages),
        session: structuredClone(request.session),
      })
      const chunks = respond(request, signal)
      yield* chunks instanceof Promise ? await withAbort(chunks, signal) : chunks
    },
  }
}

/** Chunks of a text response. */
export function textChunks(text: string, finish: Partial<Extract<ModelChunk, { type: 'finish' }>> = {}): ModelChunk[] {
  return [
    { type: 'text', text },
    { type: 'finish', stop: 'end', usage: USAGE, ...finish },
  ]
}

/** Chunks of a response with tool calls. */
export function toolCallChunks(
  ...calls: { name: string; input?: unknown; id?: string; invalid?: string }[]
): ModelChunk[] {
  const parts = calls.map(
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

/** Responds by the turn of the session; the last response repeats. */
export function chunksByTurn(...responses: ChunkSource[]): (request: ModelRequest) => ChunkSource {
  return ({ session }) => responses[Math.min(session.turn, responses.length) - 1] ?? []
}

export interface PausableStore {
  store: Store
  /** Every append that reached the store, in order. */
  appends: Append[]
  /** Makes later commits wait for `resume`. */
  pause(): void
  resume(): void
  /** Makes later appends fail; `undefined` ends it. */
  failWith(error: Error | undefined): void
}

/** In-memory store whose commits can be paused or made to fail. */
export function pausableStore(): PausableStore {
  const store: Store = memoryStore()
  const commit = store.append.bind(store)
  const appends: Append[] = []
  let gate: PromiseWithResolvers<void> | undefined
  let failure: Error | undefined
  const commitOrFail = (batch: readonly Append[]) => {
    if (failure) throw failure
    return commit(batch) as AppendOutcome[]
  }
  store.append = (batch) => {
    appends.push(...batch)
    return gate ? gate.promise.then(() => commitOrFail(batch)) : commitOrFail(batch)
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

/** Defines a pattern from one function; its return value is the output of the run. */
export function patternFrom(
  name: string,
  execute: (context: Context) => Promise<unknown>,
  more: Partial<Pattern> = {},
): Pattern {
  return definePattern({
    name,
    description: `${name} of the test`,
    version: 1,
    input: z.record(z.string(), z.unknown()),
    output: z.unknown(),
    category: 'planning',
    events: NOTES,
    execute: async (context): Promise<PatternResult> => ({ success: true, output: await execute(context) }),
    ...(more as object),
  })
}

/** The events that test patterns may emit. */
const NOTES = { 'custom:note': z.looseObject({}), 'custom:noted': z.looseObject({}), 'custom:tick': z.looseObject({}) }

/** Data of all events of a type, in order. */
export function eventData<T extends AnyEvent['type']>(events: readonly Event[], type: T): EventDataByType<T>[] {
  return events.flatMap((event) => (event.type === type ? [event.data as EventDataByType<T>] : []))
}

/** An event of the kernel or of a built-in pattern. */
export type AnyEvent = Event | TeamEvent | CollaborateEvent
type EventDataByType<T> = T extends `custom:${string}`
  ? { key: string; [field: string]: unknown }
  : Extract<AnyEvent, { type: T }>['data']

/** Lets pending microtasks and `turns` turns of the event loop run. */
export async function flushEventLoop(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}
