import { errorFromRecord } from '../../../errors.ts'
import type { BuildScope } from '../build-scope.ts'
import { identify, startConversation } from '../build-scope.ts'
import type { PlannedTask, PreviousAttempt, RequiredChange } from '../contracts.ts'
import type { StatusUpdate } from '../messages.ts'
import type { TaskOutcome } from '../output.ts'
import type { DevelopedTask } from './develop-task.ts'
import { developTask } from './develop-task.ts'
import { mergeTask } from './merge-task.ts'

/** The work of one round: tasks in the order in which they are merged. */
export interface RoundWork {
  iteration: number
  tasks: readonly { task: PlannedTask; changes: RequiredChange[] }[]
  /** What happened to tasks in earlier rounds, by task id. */
  earlier: ReadonlyMap<string, PreviousAttempt[]>
}

export interface RoundResult {
  outcomes: TaskOutcome[]
  attempts: Map<string, PreviousAttempt[]>
}

interface TaskEnd {
  outcome: TaskOutcome
  merged: boolean
  attempts: PreviousAttempt[]
}

/**
 * Developers work in parallel; their branches are merged one at a time, in the order of the plan. A task begins when its dependencies are
 * merged. Tasks are sorted: one that holds a slot never waits for one that has not started (deadlock).
 */
export async function delegateTasks(scope: BuildScope, { iteration, tasks, earlier }: RoundWork): Promise<RoundResult> {
  const ends = new Map<string, Promise<TaskEnd>>()
  let lastMerge: Promise<unknown> = Promise.resolve()
  const run = async (entry: RoundWork['tasks'][number], mergeAfter: Promise<unknown>): Promise<TaskEnd> => {
    const { task, changes } = entry
    const missing = await failedDependencies(task, ends)
    if (missing.length > 0) return notStarted(scope, task, { iteration, missing })
    const previous = earlier.get(task.task_id) ?? []
    const developed = await developTask(scope, { task, iteration, changes, previous })
    // A predecessor that failed has ended, too: only its turn in the queue matters.
    await mergeAfter.catch(() => {})
    return finishTask(scope, developed, iteration)
  }
  const settled = await scope.context.parallel(tasks, scope.config.max_parallel, (entry) => {
    const running = run(entry, lastMerge)
    lastMerge = running
    ends.set(entry.task.task_id, running)
    return running
  })
  const failures = settled.flatMap((result) => (result.ok ? [] : [result.error]))
  const [first] = failures
  // The others have finished their work; resume repeats every request that failed.
  if (first)
    throw errorFromRecord(
      first.toJSON(),
      failures.map((error) => error.toJSON()),
    )
  const finished = settled.flatMap((result) => (result.ok ? [result.value] : []))
  return {
    outcomes: finished.map(({ outcome }) => outcome),
    attempts: new Map(finished.map(({ outcome, attempts }) => [outcome.task_id, attempts])),
  }
}

/** Waits for all dependencies in this round; a failed hard one stops the task. */
async function failedDependencies(task: PlannedTask, ends: ReadonlyMap<string, Promise<TaskEnd>>): Promise<string[]> {
  const failed: string[] = []
  for (const { task_id, kind } of task.dependencies) {
    const end = await ends.get(task_id)
    if (end && kind === 'hard' && !end.merged) failed.push(task_id)
  }
  return failed
}

function notStarted(
  scope: BuildScope,
  { task_id, title, agent }: PlannedTask,
  { iteration, missing }: { iteration: number; missing: string[] },
): TaskEnd {
  const summary = `not started: it depends on ${missing.join(', ')}, which ${missing.length === 1 ? 'was' : 'were'} not completed`
  const conversation = startConversation(scope.context, `${task_id}-${iteration}`)
  const [architect, developer] = [identify(scope, scope.config.architect), identify(scope, agent, conversation.id)]
  const content: StatusUpdate = { state: 'not_started', depends_on: missing, summary }
  conversation.send({ from: developer, to: architect, type: 'status_update', content, task_id })
  const output = { task_id, status: 'failed' as const, changes: noChanges(), summary }
  return { outcome: { task_id, title, agent, status: 'not_started', attempts: 0, output }, merged: false, attempts: [] }
}

function noChanges() {
  return { files_created: [], files_modified: [], files_deleted: [] }
}

/** Only complete work is merged; partial work stays on its branch until the end, and in the report. */
async function finishTask(scope: BuildScope, developed: DevelopedTask, iteration: number): Promise<TaskEnd> {
  const { task, agent, attempts } = developed
  const isComplete = developed.output.status === 'completed'
  const merged = isComplete && (await mergeTask(scope, developed, iteration))
  const { output } = developed
  const status: TaskOutcome['status'] = merged ? 'completed' : output.status === 'completed' ? 'failed' : output.status
  const outcome = { task_id: task.task_id, title: task.title, agent, status, attempts: attempts.length, output }
  return { outcome, merged, attempts }
}
