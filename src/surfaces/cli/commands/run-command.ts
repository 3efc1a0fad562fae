import { resolve } from 'node:path'
import type { Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { followRun } from '../follow-run.ts'
import { modelName, withTroupe } from '../open-troupe.ts'
import { readObjectFile } from '../pattern-flags.ts'
import { TEAM_PATTERN } from '../team-pattern.ts'
import { BUILD_PATTERN } from './build-command.ts'

interface RunPatternOptions {
  input?: string
  team?: string
  set?: string[]
  tag?: string[]
  continue?: string | true
}

/** Starts a run and follows it. Flags override the fields of the `--input` file. */
export async function runPatternCommand(
  cli: Cli<RunPatternOptions>,
  pattern: string,
  flags: Record<string, unknown>,
): Promise<number> {
  const { input: path, team: file, set, tag: tags } = cli.options
  const fields = { ...(path === undefined ? {} : await readObjectFile(path, '--input')), ...flags }
  if (path !== undefined && path !== '-') cli.sourceFiles = [resolve(path)]
  const from = path === undefined || path === '-' ? './stdin' : path
  const completed =
    pattern === TEAM_PATTERN
      ? await (await import('../load-team.ts')).resolveTeamInput(cli, fields, { from, file, set })
      : fields
  const limits = cli.options.limit ? await (await import('../limit-option.ts')).limitsFrom(cli) : {}
  const model = modelName(cli)
  return withTroupe(cli, 'new', async (troupe) => {
    const input = await resolveSession(cli, troupe, { pattern, input: await resolveRunId(cli, troupe, completed) })
    if (pattern === BUILD_PATTERN) await (await import('../left-worktrees.ts')).noteLeftWorktrees(cli, troupe)
    const options = { limits, ...(model ? { model } : undefined), ...(tags ? { tags } : undefined) }
    const handle = await troupe.stream(pattern, input, options)
    if (process.send) (await import('./detach-command.ts')).notifyParent(handle.run_id)
    return followRun(cli, troupe, { handle })
  })
}

/** Sets `session_id` to the session of `--continue`. */
async function resolveSession(
  { options }: Cli<RunPatternOptions>,
  troupe: Troupe,
  { pattern, input }: { pattern: string; input: Record<string, unknown> },
): Promise<Record<string, unknown>> {
  if (options.continue === undefined) return input
  const id = options.continue === true ? undefined : options.continue
  const { findSession } = await import('../find-session.ts')
  return { ...input, session_id: await findSession(troupe, pattern, id) }
}

/** Resolves an id prefix in `of_run`. */
async function resolveRunId(
  cli: Cli,
  troupe: Troupe,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  if (typeof input.of_run !== 'string') return input
  const { findRun } = await import('../find-run.ts')
  const { run_id } = await findRun(cli, troupe, input.of_run)
  return { ...input, of_run: run_id }
}
