import type { PlannedTask, RequiredChange } from '../contracts.ts'
import { isInScope } from '../plan/scope.ts'

/** A task, and the changes that its developer has to make in the next round. */
export interface ReworkTask {
  task: PlannedTask
  changes: RequiredChange[]
}

const PATH = /[\w@.-]+(?:\/[\w@.-]+)*\.\w+/g

/**
 * Gives each required change to the tasks whose scope has its file. A change without a file, such as a failing check, goes to the tasks whose
 * files its text names, or else to those that have other changes to make, or else to all: nobody knows whose work broke it.
 */
export function assignChanges(tasks: readonly PlannedTask[], changes: readonly RequiredChange[]): ReworkTask[] {
  const owned = changes.map((change) => ({ change, owners: ownersOf(tasks, change) }))
  const known = tasks.filter((task) => owned.some(({ owners }) => owners.includes(task)))
  const fallback = known.length > 0 ? known : tasks
  return tasks.flatMap((task) => {
    const own = owned.filter(({ owners }) => (owners.length > 0 ? owners : fallback).includes(task))
    const isNeeded = own.some(({ change }) => change.priority !== 'consider')
    return isNeeded ? [{ task, changes: own.map(({ change }) => change) }] : []
  })
}

function ownersOf(tasks: readonly PlannedTask[], { file, description }: RequiredChange): PlannedTask[] {
  const paths = file === undefined ? (description.match(PATH) ?? []) : [file]
  // Output of commands names files by absolute paths, too.
  const suffixes = paths.flatMap((path) => path.split('/').map((_, index, names) => names.slice(index).join('/')))
  return tasks.filter(({ scope }) => suffixes.some((path) => isInScope(scope, path)))
}
