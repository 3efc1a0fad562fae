import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { SteerAction } from '../../../kernel/steer-action.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { followRun, resultRecord } from '../follow-run.ts'
import { parseTeamVariables } from '../load-team.ts'
import { withTroupe } from '../open-troupe.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'

/** Asks something of a team at work. Where that answers what it waits for, it goes on here. */
export function steerCommand(cli: Cli<{ wait?: boolean }>, verb: string, words: readonly string[]): Promise<number> {
  const [wanted = '', ...rest] = words
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    await requireSameModel(cli, troupe, row.run_id)
    const action = await parseSteerAction(verb, rest, () => loadRunTeam(troupe, row))
    const waited = await isWaitingFor(troupe, row, action)
    const handle = await troupe.steer(row.run_id, action, { resume: cli.options.wait !== false })
    const elsewhere = troupe.isRunning(row)
    if (waited && !elsewhere && cli.options.wait !== false) return followRun(cli, troupe, handle, { after: row.head })
    if (cli.options.json) printJson(cli, resultRecord(await handle.result))
    else cli.terminal.print(withProgramName(cli.terminal.out, steerConfirmation(row, { elsewhere, waited })))
    return EXIT.done
  })
}

/** The team that a run is of, as it was when the run began. */
export async function loadRunTeam(troupe: Troupe, { run_id, pattern }: RunRow): Promise<Team> {
  if (pattern !== 'team') {
    throw new TroupeError('invalid_input', `${run_id} is a run of ${pattern}, not of a team`, {
      hint: 'troupe runs lists the runs; others can be answered and cancelled',
    })
  }
  const [first] = await troupe.store.events(run_id, { to: 1 })
  const { input } = (first?.data ?? {}) as { input?: { team?: Team } }
  if (!input?.team) throw new TroupeError('internal', `the journal of ${run_id} does not begin with its team`)
  return input.team
}

async function parseSteerAction(
  verb: string,
  rest: readonly string[],
  team: () => Promise<Team>,
): Promise<SteerAction> {
  const known = await team()
  switch (verb) {
    case 'next':
      return { do: 'override', agent: rest.join(' ') }
    case 'say':
      return { do: 'say', text: rest.join(' ') }
    case 'set': {
      if (!/^[^=]+=/.test(rest.join(' '))) throw invalidAssignment(rest.join(' '))
      const [[name, value] = ['', '']] = Object.entries(await parseTeamVariables(known, [rest.join(' ')]))
      return { do: 'set', name, value }
    }
    default:
      return { do: verb as 'pause' | 'step' | 'continue' }
  }
}

function invalidAssignment(said: string): TroupeError {
  return new TroupeError('invalid_input', `'${said}' is no variable with a value`, {
    hint: 'write NAME=VALUE, such as min_words=800',
  })
}

/** Whether the run waits for just this. */
async function isWaitingFor(troupe: Troupe, { run_id }: RunRow, action: SteerAction): Promise<boolean> {
  const gates = await troupe.store.openGates({ run_id })
  return gates.some(({ detail }) => {
    const { takes } = (detail ?? {}) as { takes?: unknown }
    return Array.isArray(takes) && takes.includes(action.do)
  })
}

function steerConfirmation(
  { run_id, status }: RunRow,
  { elsewhere, waited }: { elsewhere: boolean; waited: boolean },
): string {
  if (elsewhere) return `noted; ${run_id} takes it between two turns`
  if (status === 'waiting' && !waited)
    return `noted; ${run_id} takes it when it goes on: troupe inbox says what it waits for`
  return `noted; go on with: troupe resume ${run_id}`
}
