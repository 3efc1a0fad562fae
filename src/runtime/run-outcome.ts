import { relative } from 'node:path'
import { errorFromRecord, TroupeError, toTroupeError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import type { RunHandle, RunResult, SettledRun } from './run-handle.ts'

type Caller = (...args: never[]) => unknown

/** Waits for the end of a run. Returns the error of one that failed, or that this process no longer follows; `caller` is where it is thrown. */
export async function settleRun(
  { run_id, result }: RunHandle,
  { store, caller }: { store: Store; caller: Caller },
): Promise<SettledRun | TroupeError> {
  const ended = await result.catch((thrown: unknown) => Object.assign(toTroupeError(thrown), { run_id }))
  if (ended instanceof TroupeError) return ended
  const { status, error } = ended
  if (status === 'failed' && error) {
    const hint = error.hint.replaceAll(/\bRUN\b/g, run_id)
    return errorFromRecord({ ...error, hint }, [], {
      run_id,
      result: ended,
      caller,
      notes: inspectLines(store, run_id),
    })
  }
  if (status === 'pending' || status === 'running') return leftRunError(store, { run_id, result: ended, caller })
  return ended as SettledRun
}

function leftRunError(store: Store, run: { run_id: string; result: RunResult; caller: Caller }): TroupeError {
  const { run_id } = run
  return new TroupeError('closed', `the troupe was closed before run ${run_id} had ended`, {
    hint:
      store.location === 'memory'
        ? 'await the run before `close`, or name a `store` in a folder, where it can be resumed'
        : `nothing is lost: \`troupe.resume('${run_id}')\` continues it; await a run before \`close\``,
    ...run,
    notes: inspectLines(store, run_id),
  })
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
