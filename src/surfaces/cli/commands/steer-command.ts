import { TroupeError } from '../../../errors.ts'
import type { RunRow, SteerAction, Troupe } from '../../../index.ts'
import { readAttachment } from '../../../index.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { followRun, resultRecord } from '../follow-run.ts'
import { parseTeamVariables } from '../load-team.ts'
import { withTroupe } from '../open-troupe.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'
import { TEAM_PATTERN } from '../team-pattern.ts'

interface SteerOptions {
  wait?: boolean
  in?: string
  attach?: string[]
}

/** Records a steer action. If it answers the gate that the run waits for, the run resumes here. */
export function steerCommand(cli: Cli<SteerOptions>, verb: string, args: readonly string[]): Promise<number> {
  const [runId = '', ...rest] = args
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    await requireSameModel(cli, troupe, row.run_id)
    const attachments = await Promise.all((cli.options.attach ?? []).map(readAttachment))
    const parsed = await parseSteerAction(verb, rest, () => loadRunTeam(troupe, row))
    const said = parsed.do === 'say' && attachments.length > 0 ? { ...parsed, attachments } : parsed
    const action = withPath(said, cli.options.in)
    const answersGate = await isWaitingFor(troupe, row, action)
    const handle = await troupe.steer(row.run_id, action, { resume: cli.options.wait !== false })
    const inOtherProcess = troupe.isRunning(row)
    if (answersGate && !inOtherProcess && cli.options.wait !== false)
      return followRun(cli, troupe, { handle, after: row.head })
    if (cli.options.json) printJson(cli, resultRecord(await handle.result))
    else cli.terminal.print(withProgramName(cli.terminal.out, steerConfirmation(row, { inOtherProcess, answersGate })))
    return EXIT.done
  })
}

/** The team of a run, as recorded at its start. */
export async function loadRunTeam(troupe: Troupe, { run_id, pattern }: RunRow): Promise<Team> {
  if (pattern !== TEAM_PATTERN) {
    throw new TroupeError('invalid_input', `${run_id} is a run of the pattern '${pattern}', not of 'team'`, {
      hint: 'list runs with: troupe runs',
    })
  }
  const {
    items: [first],
  } = await troupe.events(run_id, { limit: 1 })
  const { input } = (first?.data ?? {}) as { input?: { team?: Team } }
  if (!input?.team) throw new TroupeError('internal', `run:start of ${run_id} has no input.team`)
  return input.team
}

async function parseSteerAction(
  verb: string,
  rest: readonly string[],
  team: () => Promise<Team>,
): Promise<SteerAction> {
  const loadedTeam = await team()
  switch (verb) {
    case 'next':
      return { do: 'override', agent: rest.join(' ') }
    case 'say':
      return { do: 'say', text: rest.join(' ') }
    case 'set': {
      if (!/^[^=]+=/.test(rest.join(' '))) throw invalidAssignment(rest.join(' '))
      const [[name, value] = ['', '']] = Object.entries(await parseTeamVariables(loadedTeam, [rest.join(' ')]))
      return { do: 'set', name, value }
    }
    default:
      return { do: verb as 'pause' | 'step' | 'continue' }
  }
}

/** Addresses a sub-team: by `path`, or by an agent such as `legal/drafter`. */
export function withPath(action: SteerAction, path: string | undefined): SteerAction {
  if (path !== undefined) return { ...action, path }
  if (action.do !== 'override' || !action.agent.includes('/')) return action
  const slash = action.agent.lastIndexOf('/')
  return { ...action, agent: action.agent.slice(slash + 1), path: action.agent.slice(0, slash) }
}

function invalidAssignment(text: string): TroupeError {
  return new TroupeError('invalid_input', `troupe team set: '${text}' is not NAME=VALUE`, {
    hint: 'write NAME=VALUE, such as min_words=800',
  })
}

/** Whether an open gate accepts this action as its answer. */
async function isWaitingFor(troupe: Troupe, { run_id }: RunRow, action: SteerAction): Promise<boolean> {
  const gates = await troupe.gates({ run_id }).all()
  return gates.some(({ detail }) => {
    const { takes, path } = (detail ?? {}) as { takes?: unknown; path?: unknown }
    return Array.isArray(takes) && takes.includes(action.do) && path === action.path
  })
}

function steerConfirmation(
  { run_id, status }: RunRow,
  { inOtherProcess, answersGate }: { inOtherProcess: boolean; answersGate: boolean },
): string {
  if (inOtherProcess) return `recorded; ${run_id} applies it before the next turn`
  if (status === 'waiting' && !answersGate)
    return `recorded; ${run_id} applies it when it continues; list open questions with: troupe inbox`
  return `recorded; resume with: troupe resume ${run_id}`
}
