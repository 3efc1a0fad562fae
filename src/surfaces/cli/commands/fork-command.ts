import { TroupeError } from '../../../errors.ts'
import type { Limits, Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { findRun } from '../find-run.ts'
import { followRun } from '../follow-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { modelName, withTroupe } from '../open-troupe.ts'

type ForkChanges = NonNullable<Parameters<Troupe['fork']>[2]>

type ForkOptions = { at?: string; set?: string[] }

/** Continues from an event of a stored run as a new run, with changes. */
export async function forkCommand(cli: Cli<ForkOptions>, runId: string): Promise<number> {
  const seq = parseSeq(cli.options.at, runId)
  const changes = await changesFrom(cli)
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, runId)
    const handle = await troupe.fork(run_id, seq, changes)
    if (!cli.options.json && !cli.options.quiet) cli.terminal.note(`${handle.run_id} forks ${run_id} at event ${seq}`)
    return followRun(cli, troupe, { handle })
  })
}

function parseSeq(at: string | undefined, runId: string): number {
  if (at !== undefined && /^[1-9]\d*$/.test(at)) return Number(at)
  const problem = at === undefined ? '--at is missing' : `--at ${at}: not the number of an event`
  throw new TroupeError('invalid_input', problem, {
    hint: `pass the seq of the last event to keep, such as --at 12; list the events with: troupe show ${runId} --events`,
  })
}

const CHANGE_FORMS = [
  'agent.NAME.instructions=TEXT (or @FILE)',
  'agent.NAME.model=MODEL',
  'model=MODEL',
  'limit.NAME=NUMBER',
  'gate.ID=ANSWER',
  'input.FIELD=VALUE',
]

async function changesFrom(cli: Cli<ForkOptions>): Promise<ForkChanges> {
  const changes: ForkChanges = {}
  for (const text of cli.options.set ?? []) await addChange(cli, changes, text)
  const limits = await limitsFrom(cli)
  if (Object.keys(limits).length > 0) changes.limits = { ...changes.limits, ...limits }
  const model = cli.options.model ? modelName(cli) : undefined
  if (model !== undefined) changes.model = model
  return changes
}

async function addChange(cli: Cli, changes: ForkChanges, text: string): Promise<void> {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  const [kind = '', ...rest] = name.split('.')
  const field = rest.join('.')
  const agent = /^(.+)\.(instructions|model)$/.exec(field)
  if (kind === 'agent' && agent) {
    const [, agentName = '', property = ''] = agent
    const resolved = property === 'instructions' ? await readValue(value) : resolveModelName(cli, value)
    changes.agents = { ...changes.agents, [agentName]: { ...changes.agents?.[agentName], [property]: resolved } }
  } else if (name === 'model' && value !== '') changes.model = resolveModelName(cli, value)
  else if (kind === 'limit' && field !== '') {
    const limit: Partial<Limits> = await limitsFrom({ ...cli, options: { limit: [`${field}=${value}`] } })
    changes.limits = { ...changes.limits, ...limit }
  } else if (kind === 'gate' && field !== '') changes.answers = { ...changes.answers, [field]: value }
  else if (kind === 'input' && field !== '') changes.input = { ...changes.input, [field]: parseInputValue(value) }
  else
    throw new TroupeError('invalid_input', `--set ${text}: unknown change`, {
      hint: `use ${CHANGE_FORMS.join(', ')}`,
      alternatives: CHANGE_FORMS,
    })
}

function resolveModelName(cli: Cli, model: string): string {
  return modelName({ ...cli, options: { model } }) ?? model
}

/** JSON where it parses, text otherwise. */
function parseInputValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function readValue(value: string): Promise<string> {
  if (!value.startsWith('@')) return value
  const { readFile } = await import('node:fs/promises')
  try {
    return await readFile(value.slice(1), 'utf8')
  } catch (thrown) {
    throw new TroupeError('invalid_input', `--set: ${value.slice(1)} cannot be read: ${(thrown as Error).message}`, {
      hint: 'check the path',
      cause: thrown,
    })
  }
}
