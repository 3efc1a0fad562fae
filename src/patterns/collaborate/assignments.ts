export interface Assignment {
  agent: string
  subtask: string
  /** Names of agents, or numbers of assignments from 1. */
  depends_on?: readonly (string | number)[] | undefined
  model?: string | undefined
}

/** An assignment that can be worked on, with the numbers of those it needs first. */
export interface Part {
  number: number
  agent: string
  subtask: string
  needs: number[]
  model?: string
}

/** How many parts one can be given: a plan of hundreds would cost what nobody agreed to. */
export const MOST_PARTS = 4

/**
 * What of a division can be used, each part after those it needs, and what is wrong with the rest. Unknown agents,
 * empty parts, parts beyond what one can be given and parts that wait for each other are left out; a dependency on nothing
 * and a model that cannot be had are dropped. `models`: why the named ones cannot, where they cannot.
 */
export function partsOf(
  assignments: readonly Assignment[],
  names: readonly string[],
  models: Readonly<Record<string, string>> = {},
): { parts: Part[]; problems: string[] } {
  const problems: string[] = []
  const given = new Map<string, number>()
  const usable = assignments.flatMap((assignment, index): Part[] => {
    const number = index + 1
    const { agent, subtask, depends_on = [] } = assignment
    const count = (given.get(agent) ?? 0) + 1
    given.set(agent, count)
    if (!names.includes(agent)) problems.push(`assignment ${number}: no specialist is called '${agent}'`)
    else if (subtask.trim() === '') problems.push(`assignment ${number} (${agent}) is empty`)
    else if (count > MOST_PARTS)
      problems.push(`assignment ${number}: ${agent} can be given ${MOST_PARTS} parts at most`)
    else {
      const model = modelIn(assignment, { number, models, problems })
      const needs = depends_on.flatMap((needed) => numbersOf(needed, { assignments, number, problems }))
      return [{ number, agent, subtask, needs: [...new Set(needs)], ...(model === undefined ? undefined : { model }) }]
    }
    return []
  })
  const parts = inOrder(withKnownNeeds(usable))
  const circular = usable.filter(({ number }) => !parts.some((part) => part.number === number))
  if (circular.length > 0) {
    problems.push(`assignments ${circular.map(({ number }) => number).join(' and ')} wait for each other`)
  }
  return { parts, problems }
}

interface Named {
  number: number
  models: Readonly<Record<string, string>>
  problems: string[]
}

function modelIn({ model }: Assignment, { number, models, problems }: Named): string | undefined {
  if (model === undefined || !Object.hasOwn(models, model)) return model
  problems.push(`assignment ${number}: ${models[model]}`)
  return undefined
}

interface Place {
  assignments: readonly Assignment[]
  number: number
  problems: string[]
}

function numbersOf(needed: string | number, { assignments, number, problems }: Place): number[] {
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

function withKnownNeeds(parts: readonly Part[]): Part[] {
  const known = new Set(parts.map(({ number }) => number))
  return parts.map((part) => ({ ...part, needs: part.needs.filter((need) => known.has(need)) }))
}

/** In plan order as far as needs allow; what only waits for itself is not in it. */
function inOrder(parts: readonly Part[]): Part[] {
  const ordered: Part[] = []
  const placed = new Set<number>()
  for (let before = -1; before !== ordered.length; ) {
    before = ordered.length
    for (const part of parts) {
      if (placed.has(part.number) || !part.needs.every((need) => placed.has(need))) continue
      placed.add(part.number)
      ordered.push(part)
    }
  }
  return ordered
}
