import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import { shortHash } from '../../kernel/hash.ts'
import type { WorktreeId } from '../../kernel/worktree.ts'
import type { Repository } from '../../tools/git/repository.ts'
import type { AgentIdentifier } from '../../views/session-file/pattern-session-file.ts'
import type { BuildConfig } from './build-config.ts'
import type { BuildPlan, FileChanges } from './contracts.ts'
import type { BuildContext, Phase } from './events.ts'
import type { BuildInput } from './input.ts'
import { AgentConversation } from './messages.ts'
import type { FailureDecision } from './output.ts'
import type { CheckCommand, CheckResult } from './verification/check.ts'

/** Everything that the phases of one build share. */
export interface BuildScope {
  context: BuildContext
  config: BuildConfig
  input: BuildInput
  agents: { architect: Agent; reviewer: Agent; developers: readonly Agent[] }
  /** The commit that the build began at. */
  base: string
  /** The folder of the workspace in the repository; empty for its top. */
  prefix: string
  /** The worktree that all work is merged into. */
  integration: WorktreeId
  checks: readonly CheckCommand[]
  baseline: readonly CheckResult[]
  decisions: FailureDecision[]
  notes: string[]
  merge_rounds: number
}

/** A repository operation as a step: repeated after a crash, it finds its work done. */
export function gitStep<T>(
  context: BuildContext,
  key: string,
  work: (repository: Repository, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return context.step(key, (signal) => work(requireRepository(context), signal), { kind: 'idempotent' })
}

function requireRepository({ repository }: BuildContext): Repository {
  if (repository) return repository
  throw new TroupeError('invalid_input', '`workspace` is missing: a build needs a git repository to work in', {
    hint: 'pass `workspace` to createTroupe, or run troupe build in the repository or with --repo PATH',
  })
}

/** The names of worktrees of one build begin with its place in the run: a run may have several builds, as tool calls. */
export function worktreeId({ run_id, caller, path }: BuildContext, name: string): WorktreeId {
  return { run_id, name: caller ? `${shortHash(`${path}/`)}-${name}` : name }
}

/** Removes all worktrees of this build with their branches, but not the branch of its result. */
export async function removeWorktrees(
  repository: Repository,
  context: BuildContext,
  signal?: AbortSignal,
): Promise<void> {
  const { run_id, name: prefix } = worktreeId(context, '')
  const ids = (await repository.listWorktrees(signal)).filter(
    (id) => id.run_id === run_id && id.name.startsWith(prefix),
  )
  await Promise.all(ids.map((id) => repository.removeWorktree({ id, branch: 'delete' }, signal)))
}

/** Records the beginning of a phase; `under` tells apart phases that come more than once in a round. */
export function emitPhase(
  { context }: Pick<BuildScope, 'context'>,
  { phase, iteration }: PhaseStart,
  under = `phases/${iteration}`,
): void {
  context.emit(`${under}/phase-${phase}`, 'build:phase', { phase, iteration })
}

interface PhaseStart {
  phase: Phase
  iteration: number
}

/** A conversation whose messages are events. */
export function startConversation(context: BuildContext, id: string): AgentConversation {
  return new AgentConversation(id, (key, message) => context.emit(key, 'build:message', message))
}

/** The agent types of the specification; others keep their own name. */
export function identify(scope: Pick<BuildScope, 'config'>, agent: string, instance_id?: string): AgentIdentifier {
  const { architect, developer, reviewer } = scope.config
  const types: Record<string, string> = { [architect]: 'architect', [developer]: 'developer', [reviewer]: 'reviewer' }
  const instance = instance_id === undefined ? undefined : { instance_id }
  return {
    agent_id: instance_id === undefined ? agent : `${agent}-${instance_id}`,
    agent_type: types[agent] ?? agent,
    ...instance,
  }
}

interface ChangedFile {
  path: string
  change: 'created' | 'modified' | 'deleted' | 'renamed'
  from?: string
}

/** A renamed file is a deleted and a created one. */
export function toFileChanges(files: readonly ChangedFile[]): FileChanges {
  const paths = (...changes: ChangedFile['change'][]) =>
    files.filter(({ change }) => changes.includes(change)).map(({ path }) => path)
  const renamed = files.flatMap(({ change, from }) => (change === 'renamed' && from !== undefined ? from : []))
  return {
    files_created: paths('created', 'renamed'),
    files_modified: paths('modified'),
    files_deleted: [...paths('deleted'), ...renamed],
  }
}

/** The changes of two rounds as one: a file that was created and then modified is created, and one that is deleted again is none. */
export function combineChanges(first: FileChanges, second: FileChanges): FileChanges {
  const unique = (paths: readonly string[]) => [...new Set(paths)].sort()
  const without = (paths: readonly string[], others: readonly string[]) =>
    paths.filter((path) => !others.includes(path))
  const restored = second.files_created.filter((path) => first.files_deleted.includes(path))
  const created = [...without(first.files_created, second.files_deleted), ...without(second.files_created, restored)]
  const modified = without([...first.files_modified, ...second.files_modified, ...restored], created)
  return {
    files_created: unique(created),
    files_modified: unique(without(modified, second.files_deleted)),
    files_deleted: unique([
      ...without(first.files_deleted, restored),
      ...without(second.files_deleted, first.files_created),
    ]),
  }
}

/** A plan in a few lines. */
export function describePlan({ summary, tasks }: BuildPlan): string {
  const lines = tasks.map(({ task_id, title, agent, scope, dependencies }) => {
    const after =
      dependencies.length === 0 ? '' : `, after ${dependencies.map((dependency) => dependency.task_id).join(', ')}`
    return `${task_id}: ${title} (${agent}; ${scope.join(', ')}${after})`
  })
  return [summary, ...lines].filter((line) => line !== '').join('\n')
}
