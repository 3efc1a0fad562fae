import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { BuildConfig } from './build-config.ts'
import type { BuildScope } from './build-scope.ts'
import { emitPhase, gitStep, worktreeId } from './build-scope.ts'
import type { BuildContext } from './events.ts'
import type { BuildInput } from './input.ts'
import { detectChecks, PROJECT_FILES } from './verification/detect-checks.ts'
import { missingRunnerError, runChecks } from './verification/run-checks.ts'

export interface ReceivedBuild {
  scope: BuildScope
  /** Files of the workspace at the base. */
  files: string[]
  /** Facts for the architect, one a line. */
  repository: string[]
  /** The folder of the integration worktree. */
  workspace: string
}

/** Receives a request: checks the repository, opens the integration worktree and records how the checks do before anything changes. */
export async function receiveBuild(
  context: BuildContext,
  config: BuildConfig,
  input: BuildInput,
): Promise<ReceivedBuild> {
  const agents = await context.step('agents', () => resolveAgents(context, config))
  const integration = worktreeId(context, 'integration')
  const opened = await gitStep(context, 'repository', async (repository, signal) => {
    if (!context.commands) throw missingRunnerError()
    const state = await repository.inspect(signal)
    if (state.refusal) throw refusalError(state.refusal)
    const worktree = await repository.openWorktree({ id: integration }, signal)
    const prefix =
      worktree.workspace === worktree.path
        ? ''
        : `${worktree.workspace.slice(worktree.path.length + 1)}/`.replaceAll('\\', '/')
    const all = await repository.listFiles(worktree.base, signal)
    const files = all.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length))
    const texts: Record<string, string> = {}
    for (const name of PROJECT_FILES.filter((file) => files.includes(file))) {
      texts[name] = (await repository.readFile({ ref: worktree.base, path: prefix + name }, signal)) ?? ''
    }
    const checks = detectChecks(texts, config.checks)
    return {
      base: worktree.base,
      branch: state.branch ?? null,
      notes: state.notes,
      workspace: worktree.workspace,
      prefix,
      files,
      checks,
    }
  })
  const { base, branch, notes, workspace, prefix, files, checks } = opened
  emitPhase({ context }, { phase: 'receive', iteration: 1 })
  context.emit('start', 'build:start', { request: input.request, base, base_branch: branch, notes })
  const baseline = await runChecks({ context, config, checks }, { workspace, stage: 'baseline', iteration: 0 })
  const scope: BuildScope = {
    context,
    config: {
      ...config,
      ...(input.max_iterations === undefined ? undefined : { max_iterations: input.max_iterations }),
      ...(input.escalation_on_max === undefined ? undefined : { escalation_on_max: input.escalation_on_max }),
    },
    input,
    agents,
    base,
    prefix,
    integration,
    checks,
    baseline,
    decisions: [],
    notes: [
      ...notes,
      ...(checks.some(({ kind }) => kind === 'test')
        ? []
        : ['no test command was found: nothing shows that the work runs']),
    ],
    merge_rounds: 0,
  }
  return { scope, files, repository: describeRepository(files, branch), workspace }
}

/** Other agents can be given tasks, too, if they write files; the configured developer comes first. */
function resolveAgents(
  { roster }: BuildContext,
  { architect, developer, reviewer }: BuildConfig,
): BuildScope['agents'] {
  const first = roster.get(developer)
  const others = roster.names
    .map((name) => roster.get(name))
    .filter((agent) => agent.name !== first.name && canWrite(agent))
  return { architect: roster.get(architect), reviewer: roster.get(reviewer), developers: [first, ...others] }
}

function canWrite({ tools = [], name }: Agent): boolean {
  return name !== 'default' && tools.includes('Write') && tools.includes('Edit')
}

interface Refusal {
  reason: string
  message: string
  hint: string
}

function refusalError({ message, hint }: Refusal): TroupeError {
  return new TroupeError('invalid_input', `\`workspace\`: ${message}`, { responsible: 'operator', hint })
}

const MAX_LISTED_FILES = 300

function describeRepository(files: readonly string[], branch: string | null): string[] {
  const rest = files.length - MAX_LISTED_FILES
  return [
    `branch: ${branch ?? 'none (detached HEAD)'}; ${files.length} files`,
    ...files.slice(0, MAX_LISTED_FILES),
    ...(rest > 0 ? [`and ${rest} more: use Glob`] : []),
  ]
}
