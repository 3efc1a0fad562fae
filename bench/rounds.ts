import type { Figure } from './bench.ts'

/** An implementation under comparison. `round` executes the work and returns its cost. */
export interface Contender {
  name: string
  round(): Promise<number>
}

export interface RoundOptions {
  rounds: number
  warmups?: number
}

/**
 * Interleaves the contenders, so that background load affects all of them, and rotates the order, so that no contender
 * always follows the garbage of the same predecessor.
 */
export async function runRounds(contenders: readonly Contender[], options: RoundOptions): Promise<Map<string, Figure>> {
  const { rounds, warmups = 1 } = options
  const costs = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let round = -warmups; round < rounds; round++) {
    for (let position = 0; position < contenders.length; position++) {
      const contender = contenders[(position + round + warmups) % contenders.length]
      if (!contender) continue
      const cost = await contender.round()
      if (round >= 0) costs.get(contender.name)?.push(cost)
    }
  }
  return new Map([...costs].map(([name, values]) => [name, toFigure(values)]))
}

export function toFigure(values: readonly number[]): Figure {
  if (values.length === 0) throw new Error('a figure needs at least one round')
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
  return { median, min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0, rounds: sorted.length }
}

/** Applies a monotonic function to a figure, e.g. a change of unit. */
export function mapFigure(figure: Figure, convert: (value: number) => number): Figure {
  const [low, high] = [convert(figure.min), convert(figure.max)].sort((a, b) => a - b)
  return { ...figure, median: convert(figure.median), min: low ?? 0, max: high ?? 0 }
}

export function findFigure(figures: ReadonlyMap<string, Figure>, name: string): Figure {
  const figure = figures.get(name)
  if (!figure) throw new Error(`no figure of '${name}'`)
  return figure
}

/** Ratios of one contender to the others that were measured. */
export function ratiosTo(
  figures: ReadonlyMap<string, Figure>,
  name: string,
  others: readonly string[],
): Record<string, number> {
  const own = findFigure(figures, name).median
  const ratios: Record<string, number> = {}
  for (const other of others) {
    const figure = figures.get(other)
    if (figure && other !== name) ratios[other] = own / figure.median
  }
  return ratios
}

/** Returns the elapsed milliseconds. */
export async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
