import type { BuildPlan, DeveloperOutput } from '../contracts.ts'
import type { BuildEvent, Phase } from '../events.ts'

/* Where a build stands, reduced from its events: tasks, checks, merges and review rounds. */

export type BuildEventOf<T extends BuildEvent['type']> = Extract<BuildEvent, { type: T }>

export interface TaskAttempt {
  iteration: number
  attempt: number
  agent: string
  branch: string
  session_key: string
  started_at: number
  ended_at: number | null
  output: DeveloperOutput | null
}

export interface BuildProgress {
  start: BuildEventOf<'build:start'>['data'] | undefined
  phase: { phase: Phase; iteration: number } | undefined
  plan: BuildPlan | undefined
  plan_notes: string[]
  plan_answer: string | undefined
  attempts: Map<string, TaskAttempt[]>
  checks: BuildEventOf<'build:check'>['data'][]
  merges: BuildEventOf<'build:merge'>[]
  conflicts: BuildEventOf<'build:conflict'>[]
  violations: BuildEventOf<'build:scope_violation'>['data'][]
  decisions: BuildEventOf<'build:decision'>['data'][]
  reviews: BuildEventOf<'build:review'>[]
  escalations: BuildEventOf<'build:escalation'>['data'][]
  end: BuildEventOf<'build:complete'>['data'] | undefined
}

export function newBuildProgress(): BuildProgress {
  return {
    ...{ start: undefined, phase: undefined, plan: undefined, plan_notes: [], plan_answer: undefined },
    ...{ attempts: new Map(), checks: [], merges: [], conflicts: [], violations: [], decisions: [] },
    ...{ reviews: [], escalations: [], end: undefined },
  }
}

export function reduceBuildProgress(progress: BuildProgress, event: BuildEvent): void {
  switch (event.type) {
    case 'build:start':
      progress.start = event.data
      return
    case 'build:phase':
      progress.phase = event.data
      return
    case 'build:plan':
      progress.plan = event.data.plan
      progress.plan_notes = [...event.data.problems, ...event.data.notes]
      return
    case 'build:plan_answer':
      progress.plan_answer = event.data.answer
      return
    case 'build:task_start':
      startAttempt(progress, event)
      return
    case 'build:task_end':
      endAttempt(progress, event)
      return
    case 'build:review':
      progress.reviews.push(event)
      return
    case 'build:complete':
      progress.end = event.data
      return
    default:
      addFact(progress, event)
  }
}

function addFact(progress: BuildProgress, event: BuildEvent): void {
  switch (event.type) {
    case 'build:check':
      progress.checks.push(event.data)
      return
    case 'build:merge':
      progress.merges.push(event)
      return
    case 'build:conflict':
      progress.conflicts.push(event)
      return
    case 'build:scope_violation':
      progress.violations.push(event.data)
      return
    case 'build:decision':
      progress.decisions.push(event.data)
      return
    case 'build:escalation':
      progress.escalations.push(event.data)
      return
    default:
  }
}

function startAttempt({ attempts }: BuildProgress, { at, data }: BuildEventOf<'build:task_start'>): void {
  const { task_id, iteration, attempt, agent, branch, session_key } = data
  const started = { iteration, attempt, agent, branch, session_key, started_at: at, ended_at: null, output: null }
  const known = attempts.get(task_id)
  if (known) known.push(started)
  else attempts.set(task_id, [started])
}

function endAttempt({ attempts }: BuildProgress, { at, data }: BuildEventOf<'build:task_end'>): void {
  const { output } = data
  const started = attempts.get(output.task_id)?.findLast(({ ended_at }) => ended_at === null)
  if (started) Object.assign(started, { ended_at: at, output })
}

export function isMerged({ merges }: BuildProgress, task_id: string, iteration: number): boolean {
  return merges.some(({ data }) => data.task_id === task_id && data.iteration >= iteration)
}

/** The number of merged tasks, and `2 of 3 tasks`. */
export function mergedTasks({ plan, merges }: BuildProgress): { merged: number; text: string } {
  const count = plan?.tasks.length ?? 0
  const merged = new Set(merges.map(({ data }) => data.task_id)).size
  return { merged, text: `${merged} of ${count} task${count === 1 ? '' : 's'}` }
}

/** The state of a task: `pending`, `running`, `completed`, `partial`, `failed`, or `merged`. */
export function taskState(progress: BuildProgress, task_id: string): string {
  const last = progress.attempts.get(task_id)?.at(-1)
  if (!last) return progress.end ? 'cancelled' : 'pending'
  if (!last.output) return progress.end ? 'cancelled' : 'running'
  return last.output.status
}

/** The tasks that another one waits for: not merged yet. */
export function waitsFor(progress: BuildProgress, task_id: string): string[] {
  const task = progress.plan?.tasks.find((each) => each.task_id === task_id)
  if (!task || progress.attempts.has(task_id)) return []
  return task.dependencies
    .map((dependency) => dependency.task_id)
    .filter((id) => !progress.merges.some(({ data }) => data.task_id === id))
}
