import type { MergeConflict } from '../../../tools/git/repository.ts'
import type { BuildScope } from '../build-scope.ts'
import { gitStep, identify, toFileChanges } from '../build-scope.ts'
import type { StatusUpdate } from '../messages.ts'
import { conflictPrompt } from '../prompts/developer-prompt.ts'
import { askAgent } from './ask-agent.ts'
import type { DevelopedTask } from './develop-task.ts'
import { scopedDeveloper } from './developer-agent.ts'
import { collectWork } from './task-worktree.ts'

const MAX_MERGE_ROUNDS = 3

/**
 * Merges the branch of a task into the integration branch, after a merge in memory. Conflicts go back to its developer with both sides; its
 * worktree then has them as conflict markers. Returns whether it was merged.
 */
export async function mergeTask(scope: BuildScope, developed: DevelopedTask, iteration: number): Promise<boolean> {
  const { context, integration } = scope
  const { task, worktree } = developed
  const key = `merges/${iteration}/${task.task_id}`
  const message = `${task.task_id}: ${task.title}`
  for (let merge_round = 1; ; merge_round++) {
    const step = `${key}/${merge_round}`
    const before = await gitStep(context, `${step}/preflight`, async (repository, signal) => {
      const { head } = await repository.openWorktree({ id: integration, base: scope.base }, signal)
      const { conflicts } = await repository.preflightMerge({ ours: head, theirs: worktree.branch }, signal)
      return { head, conflicts }
    })
    if (before.conflicts.length === 0) {
      const theirs = worktree.branch
      const merged = await gitStep(context, `${step}/merge`, (repository, signal) =>
        repository.merge({ into: integration, theirs, message }, signal),
      )
      if (merged.merged) {
        context.emit(`${step}/merged`, 'build:merge', {
          iteration,
          task_id: task.task_id,
          head: merged.head,
          changes: developed.output.changes,
        })
        sendStatus(scope, developed, { state: 'merged', head: merged.head, summary: 'its branch was merged' })
        return true
      }
      before.conflicts.push(...merged.conflicts)
    }
    const files = before.conflicts.map(({ path }) => path)
    context.emit(`${step}/conflict`, 'build:conflict', { iteration, task_id: task.task_id, merge_round, files })
    scope.merge_rounds++
    if (merge_round > MAX_MERGE_ROUNDS) {
      const verb = files.length === 1 ? 'conflicts' : 'conflict'
      const summary = `was not merged: ${files.join(', ')} still ${verb} after ${MAX_MERGE_ROUNDS} rounds`
      scope.notes.push(`${task.task_id} ${summary}`)
      sendStatus(scope, developed, { state: 'not_merged', files, summary })
      return false
    }
    await resolveConflicts(scope, developed, { key: step, head: before.head, iteration })
  }
}

/** Tells the architect how the work of a developer goes on after its report. */
function sendStatus(scope: BuildScope, { task, agent, conversation }: DevelopedTask, content: StatusUpdate): void {
  const [architect, developer] = [identify(scope, scope.config.architect), identify(scope, agent, conversation.id)]
  conversation.send({ from: developer, to: architect, type: 'status_update', content, task_id: task.task_id })
}

interface MergeRound {
  key: string
  /** The tip of the integration branch that conflicts. */
  head: string
  iteration: number
}

async function resolveConflicts(scope: BuildScope, developed: DevelopedTask, { key, head }: MergeRound): Promise<void> {
  const { context, config } = scope
  const { task, worktree, agent, conversation } = developed
  const message = `Merge the work of others into ${task.task_id}`
  const started = await gitStep(context, `${key}/start`, (repository, signal) =>
    repository.startMerge({ into: worktree.id, theirs: head, message }, signal),
  )
  if (started.merged) return
  const [architect, developer] = [identify(scope, config.architect), identify(scope, agent, conversation.id)]
  const content = { conflicts: started.conflicts.map(conflictSummary) }
  conversation.send({ from: architect, to: developer, type: 'feedback', content, task_id: task.task_id })
  const session = await askAgent(scope, {
    key: `${key}/session`,
    agent: scopedDeveloper(context.roster.get(agent), task.scope, config.developer_timeout_ms),
    prompt: conflictPrompt({
      task: `${task.task_id}: ${task.description}`,
      conflicts: started.conflicts,
      scope: task.scope,
    }),
    workspace: worktree.workspace,
  })
  const work = await collectWork(scope, { task, worktree, since: head, key })
  const status = session.stop_reason
  const changes = toFileChanges(work.files)
  developed.output = { ...developed.output, changes }
  const report = { stop_reason: status, unresolved: work.unresolved, changes }
  conversation.send({ from: developer, to: architect, type: 'task_completion', content: report, task_id: task.task_id })
}

function conflictSummary({ path, kind }: MergeConflict) {
  return { path, kind }
}
