import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'
import type { Team } from '../../../judgement/team/definition.ts'
import type { SteerAction } from '../../../kernel/steer.ts'
import { attend, resultRecord } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findRun } from '../find.ts'
import { withTroupe } from '../open.ts'
import { typable } from '../render/line.ts'
import { sameModel } from '../same-model.ts'
import { assignedIn } from '../team-source.ts'

/** Asks something of a team at work. Where that answers what it waits for, it goes on here. */
export function steer(cli: Cli<{ wait?: boolean }>, verb: string, words: readonly string[]): Promise<number> {
  const [wanted = '', ...rest] = words
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    await sameModel(cli, troupe, row.run_id)
    const action = await actionOf(verb, rest, () => teamOf(troupe, row))
    const waited = await waitsFor(troupe, row, action)
    const handle = await troupe.steer(row.run_id, action, { go_on: cli.options.wait !== false })
    const elsewhere = troupe.isUnderWay(row)
    if (waited && !elsewhere && cli.options.wait !== false) return attend(cli, troupe, handle, { after: row.head })
    if (cli.options.json) printJson(cli, resultRecord(await handle.result))
    else cli.terminal.print(typable(cli.terminal.out, noted(row, { elsewhere, waited })))
    return EXIT.done
  })
}

/** The team that a run is of, as it was when the run began. */
export async function teamOf(troupe: Troupe, { run_id, pattern }: RunRow): Promise<Team> {
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

async function actionOf(verb: string, rest: readonly string[], team: () => Promise<Team>): Promise<SteerAction> {
  const known = await team()
  switch (verb) {
    case 'next':
      return { do: 'override', agent: rest.join(' ') }
    case 'say':
      return { do: 'say', text: rest.join(' ') }
    case 'set': {
      if (!/^[^=]+=/.test(rest.join(' '))) throw noPair(rest.join(' '))
      const [[name, value] = ['', '']] = Object.entries(await assignedIn(known, [rest.join(' ')]))
      return { do: 'set', name, value }
    }
    default:
      return { do: verb as 'pause' | 'step' | 'continue' }
  }
}

function noPair(said: string): TroupeError {
  return new TroupeError('invalid_input', `'${said}' is no variable with a value`, {
    hint: 'write NAME=VALUE, such as min_words=800',
  })
}

/** Whether the run waits for just this. */
async function waitsFor(troupe: Troupe, { run_id }: RunRow, action: SteerAction): Promise<boolean> {
  const gates = await troupe.store.openGates({ run_id })
  return gates.some(({ detail }) => {
    const { takes } = (detail ?? {}) as { takes?: unknown }
    return Array.isArray(takes) && takes.includes(action.do)
  })
}

function noted({ run_id, status }: RunRow, { elsewhere, waited }: { elsewhere: boolean; waited: boolean }): string {
  if (elsewhere) return `noted; ${run_id} takes it between two turns`
  if (status === 'waiting' && !waited)
    return `noted; ${run_id} takes it when it goes on: troupe inbox says what it waits for`
  return `noted; go on with: troupe resume ${run_id}`
}
