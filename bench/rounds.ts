import type { Figure } from './bench.ts'

/** Someone who does the same work in another way. `round` does it once and returns what it cost. */
export interface Contender {
  name: string
  round(): Promise<number>
}

export interface RoundOptions {
  rounds: number
  warmups?: number
}

/**
 * Lets the contenders take turns, so that a busy moment of the machine falls on all of them, and begins each round with
 * another one, so that nobody always works in the garbage of the same neighbour.
 */
export async function runRounds(contenders: readonly Contender[], options: RoundOptions): Promise<Map<string, Figure>> {
  const { rounds, warmups = 1 } = options
  const costs = new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  for (let round = -warmups; round < rounds; round++) {
    for (let place = 0; place < contenders.length; place++) {
      const contender = contenders[(place + round + warmups) % contenders.length]
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

/** The same figure in another unit, or less a constant. */
export function mapFigure(figure: Figure, change: (value: number) => number): Figure {
  const [low, high] = [change(figure.min), change(figure.max)].sort((a, b) => a - b)
  return { ...figure, median: change(figure.median), min: low ?? 0, max: high ?? 0 }
}

export function findFigure(figures: ReadonlyMap<string, Figure>, name: string): Figure {
  const figure = figures.get(name)
  if (!figure) throw new Error(`nobody called '${name}' was measured`)
  return figure
}

/** Ratios of one contender to those named, where they were measured. */
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

/** Runs the work and returns the milliseconds it took. */
export async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}
