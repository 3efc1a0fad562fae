export interface Assignment {
  agent: string
  subtask: string
  /** Names of agents, or numbers of assignments from 1. */
  depends_on?: readonly (string | number)[] | undefined
  model?: string | undefined
}

/** An assignment that can be worked on, with the numbers of those it needs first. */
export interface PlannedAssignment {
  number: number
  agent: string
  subtask: string
  dependsOn: number[]
  model?: string
}

/** How many parts one can be given: a plan of hundreds would cost what nobody agreed to. */
export const MAX_ASSIGNMENTS_PER_AGENT = 4

/**
 * What of a division can be used, each part after those it needs, and what is wrong with the rest. Unknown agents,
 * empty parts, parts beyond what one can be given and parts that wait for each other are left out; a dependency on nothing
 * and a model that cannot be had are dropped. `models`: why the named ones cannot, where they cannot.
 */
export function planAssignments(
  assignments: readonly Assignment[],
  names: readonly string[],
  models: Readonly<Record<string, string>> = {},
): { parts: PlannedAssignment[]; problems: string[] } {
  const problems: string[] = []
  const given = new Map<string, number>()
  const usable = assignments.flatMap((assignment, index): PlannedAssignment[] => {
    const number = index + 1
    const { agent, subtask, depends_on = [] } = assignment
    const count = (given.get(agent) ?? 0) + 1
    given.set(agent, count)
    if (!names.includes(agent)) problems.push(`assignment ${number}: no specialist is called '${agent}'`)
    else if (subtask.trim() === '') problems.push(`assignment ${number} (${agent}) is empty`)
    else if (count > MAX_ASSIGNMENTS_PER_AGENT)
      problems.push(`assignment ${number}: ${agent} can be given ${MAX_ASSIGNMENTS_PER_AGENT} parts at most`)
    else {
      const model = availableModel(assignment, { number, models, problems })
      const needs = depends_on.flatMap((needed) => dependencyNumbers(needed, { assignments, number, problems }))
      return [
        { number, agent, subtask, dependsOn: [...new Set(needs)], ...(model === undefined ? undefined : { model }) },
      ]
    }
    return []
  })
  const parts = topologicalOrder(withKnownDependencies(usable))
  const circular = usable.filter(({ number }) => !parts.some((part) => part.number === number))
  if (circular.length > 0) {
    problems.push(`assignments ${circular.map(({ number }) => number).join(' and ')} wait for each other`)
  }
  return { parts, problems }
}

interface ModelContext {
  number: number
  models: Readonly<Record<string, string>>
  problems: string[]
}

function availableModel({ model }: Assignment, { number, models, problems }: ModelContext): string | undefined {
  if (model === undefined || !Object.hasOwn(models, model)) return model
  problems.push(`assignment ${number}: ${models[model]}`)
  return undefined
}

interface DependencyContext {
  assignments: readonly Assignment[]
  number: number
  problems: string[]
}

function dependencyNumbers(needed: string | number, { assignments, number, problems }: DependencyContext): number[] {
  const asNumber = typeof needed === 'number' ? needed : /^\d+$/.test(needed.trim()) ? Number(needed) : undefined
  const found =
    asNumber === undefined
      ? assignments.flatMap(({ agent }, index) => (agent === needed ? [index + 1] : []))
      : assignments[asNumber - 1]
        ? [asNumber]
        : []
  const others = found.filter((other) => other !== number)
  if (others.length === 0) problems.push(`assignment ${number} depends on '${needed}', which is not another assignment`)
  return others
}

function withKnownDependencies(parts: readonly PlannedAssignment[]): PlannedAssignment[] {
  const known = new Set(parts.map(({ number }) => number))
  return parts.map((part) => ({ ...part, needs: part.dependsOn.filter((need) => known.has(need)) }))
}

/** In plan order as far as needs allow; what only waits for itself is not in it. */
function topologicalOrder(parts: readonly PlannedAssignment[]): PlannedAssignment[] {
  const ordered: PlannedAssignment[] = []
  const placed = new Set<number>()
  for (let before = -1; before !== ordered.length; ) {
    before = ordered.length
    for (const part of parts) {
      if (placed.has(part.number) || !part.dependsOn.every((need) => placed.has(need))) continue
      placed.add(part.number)
      ordered.push(part)
    }
  }
  return ordered
}
