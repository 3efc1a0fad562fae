import { TroupeError, unknownNameError } from '../../../errors.ts'
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
import { commandArguments } from '../program-name.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'
import { TEAM_PATTERN } from '../team-pattern.ts'

interface SteerOptions {
  wait?: boolean
  in?: string
  attach?: string[]
}

const ACTIONS = ['pause', 'step', 'continue', 'next', 'set', 'say']
/** What follows the action, for those that take something. */
const VALUES: Readonly<Record<string, string>> = { next: 'AGENT', set: 'NAME=VALUE', say: 'TEXT' }

/** Records a steer action. If it answers the gate that the run waits for, the run resumes here. */
export function steerCommand(cli: Cli<SteerOptions>, ...words: string[]): Promise<number> {
  const [runId = '', verb = '', ...values] = words
  requireAction(cli.options, words)
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    await requireSameModel(cli, troupe, row.run_id)
    const attachments = await Promise.all((cli.options.attach ?? []).map(readAttachment))
    const parsed = await toSteerAction(await loadRunTeam(troupe, row), verb, values.join(' '))
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

function requireAction({ attach }: SteerOptions, [runId = '', verb = '', ...values]: readonly string[]): void {
  if (!ACTIONS.includes(verb)) {
    const swapped = `the run comes before the action: troupe steer ${commandArguments(verb)} ${runId}`
    const hint = ACTIONS.includes(runId) ? swapped : undefined
    throw unknownNameError('invalid_input', { kind: 'action', name: verb, known: ACTIONS, hint })
  }
  const value = VALUES[verb]
  if (attach && verb !== 'say') {
    throw new TroupeError('invalid_input', `steer ${verb}: --attach belongs to a message`, {
      hint: `troupe steer ${commandArguments(runId)} say TEXT --attach FILE`,
    })
  }
  if ((value === undefined) === (values.length === 0)) return
  const problem = value ? `${value} is missing` : `'${values.join(' ')}' is too much`
  throw new TroupeError('invalid_input', `steer ${verb}: ${problem}`, {
    hint: `troupe steer ${[commandArguments(runId), verb, value].join(' ').trim()}`,
  })
}

async function toSteerAction(team: Team, verb: string, value: string): Promise<SteerAction> {
  switch (verb) {
    case 'next':
      return { do: 'override', agent: value }
    case 'say':
      return { do: 'say', text: value }
    case 'set': {
      if (!/^[^=]+=/.test(value)) throw invalidAssignment(value)
      const [[name, parsed] = ['', '']] = Object.entries(await parseTeamVariables(team, [value]))
      return { do: 'set', name, value: parsed }
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
  return new TroupeError('invalid_input', `troupe steer: '${text}' is not NAME=VALUE`, {
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
