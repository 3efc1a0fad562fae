import { nearestNames, TroupeError } from '../../errors.ts'
import type { GateRow, RunRow, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { storePath } from './open-troupe.ts'

const RUNS_SEARCHED = 1000
const IDS_LISTED = 5

/** The run of this id, or the only one whose id begins like this; without an id the newest. */
export async function findRun(cli: Cli, troupe: Troupe, wanted: string | undefined): Promise<RunRow> {
  const runs = await troupe.runs({ limit: RUNS_SEARCHED })
  const [newest] = runs
  if (!newest) {
    throw new TroupeError(
      'unknown_run',
      wanted === undefined ? 'there are no runs yet' : `no run '${wanted}'; there are no runs yet`,
      {
        hint: `looked in ${storePath(cli)}; name another store with --store or TROUPE_STORE`,
      },
    )
  }
  if (wanted === undefined) return newest
  const exact = runs.find((run) => run.run_id === wanted) ?? (await troupe.store.run(wanted))
  if (exact && exact.project === newest.project) return exact
  const ids = runs.map((run) => run.run_id)
  const matches = prefixMatches(ids, wanted, 'r_')
  const found = runs.find((run) => run.run_id === matches[0])
  if (found && matches.length === 1) return found
  throw matches.length > 1 ? ambiguousId('run', wanted, matches) : unknownId('run', wanted, ids)
}

/** The open question of this id, or the only one whose id begins like this. */
export async function findGate(troupe: Troupe, wanted: string): Promise<GateRow> {
  const exact = await troupe.store.gate(wanted)
  if (exact) return exact
  const open = await troupe.inbox()
  const ids = open.map((gate) => gate.gate_id)
  const matches = prefixMatches(ids, wanted, 'g_')
  const found = open.find((gate) => gate.gate_id === matches[0])
  if (found && matches.length === 1) return found
  if (matches.length > 1) throw ambiguousId('question', wanted, matches)
  if (ids.length > 0) throw unknownId('question', wanted, ids)
  throw new TroupeError('unknown_gate', `no question '${wanted}'; nothing waits for an answer`, {
    hint: 'troupe inbox lists the open questions',
  })
}

/** The newest are named, and none as what was meant: an id that looks like another is another. */
function unknownId(kind: 'run' | 'question', wanted: string, ids: readonly string[]): TroupeError {
  const more = ids.length > IDS_LISTED ? ` and ${ids.length - IDS_LISTED} more` : ''
  const list = ids.slice(0, IDS_LISTED).join(', ') + more
  return new TroupeError(kind === 'run' ? 'unknown_run' : 'unknown_gate', `no ${kind} '${wanted}'; known: ${list}`, {
    hint: kind === 'run' ? 'troupe runs lists them' : 'troupe inbox lists the open questions',
    alternatives: ids.slice(0, IDS_LISTED),
  })
}

function prefixMatches(ids: readonly string[], wanted: string, prefix: string): string[] {
  if (wanted === '') return []
  return ids.filter((id) => id.startsWith(wanted) || id.startsWith(prefix + wanted))
}

function ambiguousId(kind: string, wanted: string, matches: readonly string[]): TroupeError {
  return new TroupeError('invalid_input', `'${wanted}' can be ${matches.length} ${kind}s`, {
    hint: 'give more of the id',
    alternatives: nearestNames(wanted, matches),
  })
}
