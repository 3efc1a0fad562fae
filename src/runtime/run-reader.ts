import { needsReportFrom, readNeedsEvents } from '../engine/needs-report.ts'
import type { WatchOptions } from '../engine/run-stream.ts'
import { watchEvents } from '../engine/run-stream.ts'
import { RunTails } from '../engine/run-tail.ts'
import { toTroupeError } from '../errors.ts'
import type { NeedsReport } from '../judgement/needs/run-needs.ts'
import type { Event } from '../kernel/event.ts'
import { issueWarning } from './issue-warning.ts'
import type { Lazy } from './lazy.ts'
import { lazy } from './lazy.ts'
import type { RunResult } from './run-handle.ts'
import { checkAfter, readRunResult, requireRun } from './run-lookup.ts'
import type { RuntimeParts } from './runtime-parts.ts'
import type { WaitingReader } from './waiting-requests.ts'

/** Operations that execute no run, so that they do not load the engine. */
export interface RunReader {
  parts: RuntimeParts
  /** The buffer that the watchers of a run share. */
  tails: RunTails
  /** Results being read. `closeTroupe` waits for them: the store must not close under a reader. */
  pendingResults: Set<Promise<void>>
  /** Runs being started. `closeTroupe` waits until they are stored. */
  pendingStarts: Set<Promise<unknown>>
  waiting: Lazy<WaitingReader>
  /** Aborted by the first `close`. */
  closing: AbortController
}

/** `base` is the reader of another project of the same troupe: both are closed together. */
export function createRunReader(parts: RuntimeParts, base?: RunReader): RunReader {
  const waiting = lazy(async () => new (await import('./waiting-requests.ts')).WaitingReader(parts))
  if (base) return { ...base, parts, waiting }
  return {
    ...{ parts, waiting, tails: new RunTails(parts.store), pendingResults: new Set(), pendingStarts: new Set() },
    closing: new AbortController(),
  }
}

export function trackStart<T>({ pendingStarts }: RunReader, started: Promise<T>): Promise<T> {
  pendingStarts.add(started)
  const forget = () => void pendingStarts.delete(started)
  started.then(forget, forget)
  return started
}

export async function readResult({ parts }: RunReader, run_id: string): Promise<RunResult> {
  const { store, project, world } = parts
  await requireRun(store, project, run_id)
  return readRunResult({ store, world }, run_id)
}

/** Compares what a run needs with what this process provides. Loads no engine. */
export async function readNeeds({ parts }: RunReader, run_id: string): Promise<NeedsReport> {
  const { store, project } = parts
  await requireRun(store, project, run_id)
  const { provided } = await parts.host.get()
  return needsReportFrom(await readNeedsEvents(store, run_id, provided), provided)
}

/** A listener that throws or rejects must neither fail the commit that it is told about nor end the process. */
export function onStoreChange({ parts }: RunReader, listener: () => void | Promise<void>): () => void {
  const callListener = async () => listener()
  return parts.store.changes.subscribe(() => {
    callListener().catch((thrown: unknown) => issueWarning(`troupe: onChange: ${toTroupeError(thrown).message}`))
  })
}

/** Yields committed events of a run, in whichever process it is executed, until it has ended. */
export async function* watchRun(
  { parts, tails }: RunReader,
  run_id: string,
  options: WatchOptions = {},
): AsyncGenerator<Event, void> {
  const { after = 0 } = options
  checkAfter(after)
  const row = await requireRun(parts.store, parts.project, run_id)
  // Such a watcher would wait forever: the end of the run may come before the event that it waits for.
  checkAfter(after, row.head)
  yield* watchEvents(tails, row, options)
}

/** Drains the engine, waits for readers, then closes everything, the store last. */
export async function closeTroupe({ parts, tails, pendingResults, pendingStarts }: RunReader): Promise<void> {
  const { mcp, toolbox, store } = parts
  // An engine that could not be loaded has nothing to drain.
  const execution = await parts.execution.peek()?.catch(() => undefined)
  await Promise.all([execution?.engine.drain(), Promise.allSettled(pendingStarts)])
  await Promise.all(pendingResults)
  await tails.close()
  for (const performer of parts.checkedPorts.performers?.values() ?? []) await performer.close?.()
  await mcp?.close()
  await (await parts.embedder.peek())?.close?.()
  await toolbox?.close()
  await store.close()
}
