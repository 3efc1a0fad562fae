import type { Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { findRun } from '../find-run.ts'
import { followRun } from '../follow-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { resolveTeamInput } from '../load-team.ts'
import { modelName, withTroupe } from '../open-troupe.ts'
import { readInputFile } from '../pattern-flags.ts'

/** Starts a run and stays with it. What stands on the command line wins over the input file. */
export async function runPatternCommand(
  cli: Cli<{ input?: string; team?: string; set?: string[] }>,
  pattern: string,
  given: Record<string, unknown>,
): Promise<number> {
  const { input: path, team: file, set } = cli.options
  const said = { ...(path === undefined ? {} : await readInputFile(path)), ...given }
  // The folder of an input file is where the team that it names is seen from.
  const from = path === undefined || path === '-' ? './stdin' : path
  const whole = pattern === 'team' ? await resolveTeamInput(cli, said, { from, file, set }) : said
  const limits = await limitsFrom(cli)
  const model = modelName(cli)
  return withTroupe(cli, 'new', async (troupe) => {
    const input = await resolveRunId(cli, troupe, whole)
    const handle = await troupe.stream(pattern, input, { limits, ...(model ? { model } : undefined) })
    return followRun(cli, troupe, handle)
  })
}

/** A run that the input is about is named as everywhere: by how its id begins. */
async function resolveRunId(
  cli: Cli,
  troupe: Troupe,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  if (typeof input.of_run !== 'string') return input
  const { run_id } = await findRun(cli, troupe, input.of_run)
  return { ...input, of_run: run_id }
}
