import { relative } from 'node:path'
import { isOwnerDead } from '../engine/lease-owner.ts'
import { errorFromRecord, TroupeError, toTroupeError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { RunHandle, RunResult, SettledRun } from './run-handle.ts'

type Caller = (...args: never[]) => unknown

interface Settling {
  store: Store
  /** The function whose caller sees the error. */
  caller: Caller
  /** Aborted when the troupe is closed. */
  closing: AbortSignal
}

/** Waits for the end of a run. Returns the error of one that failed, or that this process no longer follows. */
export async function settleRun({ run_id, result }: RunHandle, settling: Settling): Promise<SettledRun | TroupeError> {
  const { store, caller } = settling
  const ended = await result.catch((thrown: unknown) => Object.assign(toTroupeError(thrown), { run_id }))
  if (ended instanceof TroupeError) return ended
  const { status, error } = ended
  if (status === 'failed') {
    const record = error ?? new TroupeError('internal', `run ${run_id} failed, and its error was not recorded`).toJSON()
    const hint = record.hint.replaceAll(/\bRUN\b/g, run_id)
    return errorFromRecord({ ...record, hint }, [], {
      run_id,
      result: ended,
      caller,
      notes: inspectLines(store, run_id),
    })
  }
  if (status === 'pending' || status === 'running') return leftRunError(settling, ended)
  return ended as SettledRun
}

async function leftRunError({ store, caller, closing }: Settling, result: RunResult): Promise<TroupeError> {
  const { run_id } = result
  const more = { run_id, result, caller, notes: inspectLines(store, run_id) }
  if (!closing.aborted && (await isExecutedElsewhere(store, run_id)))
    return new TroupeError('lease_lost', `another process executes run ${run_id}`, {
      hint: `follow it with \`troupe.watch('${run_id}')\``,
      ...more,
    })
  const [done, call] = closing.aborted ? ['closed', 'close'] : ['drained', 'drain']
  return new TroupeError('closed', `the troupe was ${done} before run ${run_id} had ended`, {
    hint:
      store.location === 'memory'
        ? `await the run before \`${call}\`, or name a \`store\` in a folder, where it can be resumed`
        : `nothing is lost: \`troupe.resume('${run_id}')\` continues it; await a run before \`${call}\``,
    ...more,
  })
}

/** False for a store that is closed meanwhile. */
async function isExecutedElsewhere(store: Store, run_id: string): Promise<boolean> {
  const row = await store.run(run_id).catch(() => undefined)
  return row?.status === 'running' && row.owner !== null && !isOwnerDead(row.owner)
}

/** The command that shows what happened; none for a store that ends with the process. */
function inspectLines({ location }: Store, run_id: string): string[] {
  if (location === 'memory') return []
  const inFolder = relative(process.cwd(), location)
  const path = inFolder.startsWith('..') ? location : inFolder
  const isDefault = path === '.troupe/troupe.db' || path === '.troupe\\troupe.db'
  return [`inspect with: npx --no troupe show ${run_id}${isDefault ? '' : ` --store ${quoted(path)}`}`]
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path}'`
}
