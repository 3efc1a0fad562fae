import type { BuildPlan, PlannedTask } from '../contracts.ts'
import { hasPlace, scopeProblem, scopesOverlap } from './scope.ts'

/** What a plan is checked against. */
export interface PlanFacts {
  /** The files of the repository. */
  files: readonly string[]
  /** The agents that can be given a task. */
  agents: readonly string[]
  max_tasks: number
}

export interface PlanCheck {
  /** The plan in order of work, without what cannot be used. */
  plan: BuildPlan
  /** What the architect is asked to correct. */
  problems: string[]
  /** What was changed without asking. */
  notes: string[]
  /** Why the plan cannot be carried out even so. */
  fatal?: string
}

/** Checks a plan and puts its tasks into the order in which they are merged. Tasks whose scopes overlap follow one another. */
export function checkPlan(given: BuildPlan, facts: PlanFacts): PlanCheck {
  if (given.tasks.length === 0) {
    const fatal = given.no_change_reason === null ? 'the plan has no tasks and no `no_change_reason`' : undefined
    return { plan: given, problems: fatal === undefined ? [] : [fatal], notes: [], ...(fatal ? { fatal } : undefined) }
  }
  const problems: string[] = []
  const named = uniqueIds(given.tasks, problems)
  const usable = named.flatMap((task) => usableTask(task, facts, problems))
  const known = new Set(usable.map(({ task_id }) => task_id))
  const linked = usable.map((task) => withKnownDependencies(task, known, problems))
  if (linked.length > facts.max_tasks)
    problems.push(`the plan has ${linked.length} tasks; at most ${facts.max_tasks} are allowed`)
  if (linked.length === 0 || linked.length > facts.max_tasks) {
    return { plan: given, problems, notes: [], fatal: problems.join('; ') }
  }
  const ordered = orderTasks(linked)
  if ('cycle' in ordered) {
    const fatal = `the dependencies form a cycle: ${ordered.cycle.join(' → ')}`
    return { plan: given, problems: [...problems, fatal], notes: [], fatal }
  }
  const { tasks, notes } = serializeOverlaps(ordered.tasks)
  return { plan: { ...given, tasks }, problems, notes }
}

function uniqueIds(tasks: readonly PlannedTask[], problems: string[]): PlannedTask[] {
  const seen = new Set<string>()
  return tasks.filter(({ task_id }) => {
    if (!seen.has(task_id)) return seen.add(task_id)
    problems.push(`two tasks have the task_id ${task_id}`)
    return false
  })
}

function usableTask(task: PlannedTask, { files, agents }: PlanFacts, problems: string[]): PlannedTask[] {
  const { task_id, description } = task
  if (description === '') problems.push(`${task_id} has no description`)
  if (!agents.includes(task.agent))
    problems.push(`${task_id}: agent ${task.agent} is unknown; known: ${agents.join(', ')}`)
  const scope = task.scope.filter((pattern) => {
    const problem = scopeProblem(pattern)
    if (problem !== undefined) problems.push(`${task_id}: scope '${pattern}' ${problem}`)
    else if (!hasPlace(pattern, files))
      problems.push(`${task_id}: scope '${pattern}' matches no file, and its folder does not exist`)
    return problem === undefined
  })
  if (task.scope.length === 0) problems.push(`${task_id} has no scope`)
  if (scope.length === 0 || description === '') return []
  return [{ ...task, scope, agent: agents.includes(task.agent) ? task.agent : (agents[0] ?? task.agent) }]
}

function withKnownDependencies(task: PlannedTask, known: ReadonlySet<string>, problems: string[]): PlannedTask {
  const dependencies = task.dependencies.filter(({ task_id }) => {
    if (known.has(task_id) && task_id !== task.task_id) return true
    problems.push(
      `${task.task_id} depends on ${task_id}, ${task_id === task.task_id ? 'itself' : 'which is no task of the plan'}`,
    )
    return false
  })
  return { ...task, dependencies }
}

const RANK = { high: 0, medium: 1, low: 2 }

/** Dependencies first, then priority, then the order of the plan (Kahn's algorithm). */
function orderTasks(tasks: readonly PlannedTask[]): { tasks: PlannedTask[] } | { cycle: string[] } {
  const waiting = [...tasks]
  const ordered: PlannedTask[] = []
  while (waiting.length > 0) {
    const ready = waiting.filter(({ dependencies }) =>
      dependencies.every(({ task_id }) => ordered.some((task) => task.task_id === task_id)),
    )
    const next = ready.sort((a, b) => RANK[a.priority] - RANK[b.priority])[0]
    if (!next) return { cycle: waiting.map(({ task_id }) => task_id) }
    ordered.push(next)
    waiting.splice(waiting.indexOf(next), 1)
  }
  return { tasks: ordered }
}

/** A task whose scope overlaps an earlier one's starts after that has ended, also after it failed: neither loses its changes. */
function serializeOverlaps(ordered: readonly PlannedTask[]): { tasks: PlannedTask[]; notes: string[] } {
  const notes: string[] = []
  const tasks = ordered.map((task, index) => {
    const earlier = ordered.slice(0, index).filter((other) => scopesOverlap(task.scope, other.scope))
    const added = earlier.filter(
      ({ task_id }) => !task.dependencies.some((dependency) => dependency.task_id === task_id),
    )
    for (const { task_id } of added) notes.push(`${task.task_id} waits for ${task_id}: their scopes overlap`)
    const soft = added.map(({ task_id }) => ({ task_id, kind: 'soft' as const }))
    return { ...task, dependencies: [...task.dependencies, ...soft] }
  })
  return { tasks, notes }
}
