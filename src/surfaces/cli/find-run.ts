import { nearestNames, TroupeError, toTroupeError } from '../../errors.ts'
import type { GateRow, RunRow, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { storePath } from './open-troupe.ts'

const RUNS_SEARCHED = 1000
const IDS_LISTED = 5

/** The run with this id or unique id prefix; without an id the newest run. */
export async function findRun(cli: Cli, troupe: Troupe, idPrefix: string | undefined): Promise<RunRow> {
  const { items: runs } = await troupe.runs({ limit: RUNS_SEARCHED })
  const [newest] = runs
  if (!newest) {
    throw new TroupeError(
      'unknown_run',
      idPrefix === undefined ? 'there are no runs yet' : `no run '${idPrefix}'; there are no runs yet`,
      {
        hint: `the store is ${storePath(cli)}; choose another with --store or TROUPE_STORE`,
      },
    )
  }
  if (idPrefix === undefined) return newest
  const exact = runs.find((run) => run.run_id === idPrefix) ?? (await orUndefined(troupe.getRun(idPrefix)))
  if (exact) return exact
  const ids = runs.map((run) => run.run_id)
  const matches = prefixMatches(ids, idPrefix, 'r_')
  const found = runs.find((run) => run.run_id === matches[0])
  if (found && matches.length === 1) return found
  throw matches.length > 1 ? ambiguousId('run', idPrefix, matches) : unknownId('run', idPrefix, ids)
}

/** The gate with this id, or the open gate with this unique id prefix. */
export async function findGate(troupe: Troupe, idPrefix: string): Promise<GateRow> {
  const exact = await orUndefined(troupe.getGate(idPrefix))
  if (exact) return exact
  const open = await troupe.gates().all()
  const ids = open.map((gate) => gate.gate_id)
  const matches = prefixMatches(ids, idPrefix, 'g_')
  const found = open.find((gate) => gate.gate_id === matches[0])
  if (found && matches.length === 1) return found
  if (matches.length > 1) throw ambiguousId('question', idPrefix, matches)
  if (ids.length > 0) throw unknownId('question', idPrefix, ids)
  throw new TroupeError('unknown_gate', `no question '${idPrefix}'; no question is open`, {
    hint: 'list open questions with: troupe inbox',
  })
}

/** An id that is not found may be a prefix. */
async function orUndefined<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (thrown) {
    if (['unknown_run', 'unknown_gate'].includes(toTroupeError(thrown).code)) return undefined
    throw thrown
  }
}

/** Lists the newest ids. Suggests none: a similar id is a different run. */
function unknownId(kind: 'run' | 'question', idPrefix: string, ids: readonly string[]): TroupeError {
  const more = ids.length > IDS_LISTED ? ` and ${ids.length - IDS_LISTED} more` : ''
  const list = ids.slice(0, IDS_LISTED).join(', ') + more
  return new TroupeError(kind === 'run' ? 'unknown_run' : 'unknown_gate', `no ${kind} '${idPrefix}'; known: ${list}`, {
    hint: kind === 'run' ? 'list runs with: troupe runs' : 'list open questions with: troupe inbox',
    alternatives: ids.slice(0, IDS_LISTED),
  })
}

function prefixMatches(ids: readonly string[], idPrefix: string, prefix: string): string[] {
  if (idPrefix === '') return []
  return ids.filter((id) => id.startsWith(idPrefix) || id.startsWith(prefix + idPrefix))
}

function ambiguousId(kind: string, idPrefix: string, matches: readonly string[]): TroupeError {
  return new TroupeError('invalid_input', `'${idPrefix}' matches ${matches.length} ${kind}s`, {
    hint: 'give more characters of the id',
    alternatives: nearestNames(idPrefix, matches),
  })
}
