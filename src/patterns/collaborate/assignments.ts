export interface Assignment {
  agent: string
  subtask: string
  /** Names of agents, or assignment numbers starting at 1. */
  depends_on?: readonly (string | number)[] | undefined
  model?: string | null | undefined
}

/** A valid assignment with the numbers of the assignments it depends on. */
export interface PlannedAssignment {
  number: number
  agent: string
  subtask: string
  dependsOn: number[]
  model?: string
}

/** Bounds the cost of a plan written by a model. */
export const MAX_ASSIGNMENTS_PER_AGENT = 4

/**
 * Validates assignments and sorts them by dependency. Assignments with an unknown agent, without text, above the limit or in
 * a dependency cycle are left out; unknown dependencies and models in `unavailableModels` (with their errors) are dropped.
 */
export function planAssignments(
  assignments: readonly Assignment[],
  names: readonly string[],
  unavailableModels: Readonly<Record<string, string>> = {},
): { parts: PlannedAssignment[]; problems: string[] } {
  const problems: string[] = []
  const counts = new Map<string, number>()
  const usable = assignments.flatMap((assignment, index): PlannedAssignment[] => {
    const number = index + 1
    const { agent, subtask, depends_on = [] } = assignment
    const count = (counts.get(agent) ?? 0) + 1
    counts.set(agent, count)
    if (agent === '') problems.push(`assignment ${number} is incomplete: it has no \`agent\``)
    else if (!names.includes(agent)) problems.push(`assignment ${number}: unknown specialist '${agent}'`)
    else if (subtask.trim() === '') problems.push(`assignment ${number} (${agent}): \`subtask\` is empty`)
    else if (count > MAX_ASSIGNMENTS_PER_AGENT)
      problems.push(`assignment ${number}: ${agent} can have at most ${MAX_ASSIGNMENTS_PER_AGENT} assignments`)
    else {
      const model = availableModel(assignment, { number, unavailableModels, problems })
      const dependencies = depends_on.flatMap((entry) => dependencyNumbers(entry, { assignments, number, problems }))
      return [
        {
          number,
          agent,
          subtask,
          dependsOn: [...new Set(dependencies)],
          ...(model === undefined ? undefined : { model }),
        },
      ]
    }
    return []
  })
  const parts = sortByDependency(dropUnknownDependencies(usable))
  const circular = usable.filter(({ number }) => !parts.some((part) => part.number === number))
  if (circular.length > 0) {
    problems.push(`assignments ${circular.map(({ number }) => number).join(' and ')} depend on each other`)
  }
  return { parts, problems }
}

interface ModelContext {
  number: number
  unavailableModels: Readonly<Record<string, string>>
  problems: string[]
}

function availableModel(
  { model }: Assignment,
  { number, unavailableModels, problems }: ModelContext,
): string | undefined {
  if (model === undefined || model === null || !Object.hasOwn(unavailableModels, model)) return model ?? undefined
  problems.push(`assignment ${number}: ${unavailableModels[model]}`)
  return undefined
}

interface DependencyContext {
  assignments: readonly Assignment[]
  number: number
  problems: string[]
}

function dependencyNumbers(entry: string | number, { assignments, number, problems }: DependencyContext): number[] {
  const asNumber = typeof entry === 'number' ? entry : /^\d+$/.test(entry.trim()) ? Number(entry) : undefined
  const matches =
    asNumber === undefined
      ? assignments.flatMap(({ agent }, index) => (agent === entry ? [index + 1] : []))
      : assignments[asNumber - 1]
        ? [asNumber]
        : []
  const others = matches.filter((other) => other !== number)
  if (others.length === 0) problems.push(`assignment ${number} depends on '${entry}', which is not another assignment`)
  return others
}

function dropUnknownDependencies(parts: readonly PlannedAssignment[]): PlannedAssignment[] {
  const known = new Set(parts.map(({ number }) => number))
  return parts.map((part) => ({ ...part, dependsOn: part.dependsOn.filter((number) => known.has(number)) }))
}

/** Topological sort, in plan order where possible; assignments in a cycle are left out. */
function sortByDependency(parts: readonly PlannedAssignment[]): PlannedAssignment[] {
  const ordered: PlannedAssignment[] = []
  const placed = new Set<number>()
  for (let before = -1; before !== ordered.length; ) {
    before = ordered.length
    for (const part of parts) {
      if (placed.has(part.number) || !part.dependsOn.every((number) => placed.has(number))) continue
      placed.add(part.number)
      ordered.push(part)
    }
  }
  return ordered
}
