/** What several rounds of one measurement came to. */
export interface Figure {
  median: number
  min: number
  max: number
  rounds: number
}

export type Unit = 'µs' | 'ms' | '×' | 'KB' | 'MB'

/** One printed line: a figure, what it is compared with, and the aim it should meet. */
export interface Line {
  what: string
  figure: Figure
  unit: Unit
  /** How often the named contender's time fits into this one. */
  times?: Readonly<Record<string, number>>
  aim?: Aim
  note?: string
}

export interface Aim {
  text: string
  met: boolean
}

export interface BenchOptions {
  /** Fewer rounds and smaller sizes: to see that a bench works, not to quote its figures. */
  quick: boolean
  /** A folder of its own for this run, on the disk that is measured. */
  folder: string
}

export interface Bench {
  name: string
  title: string
  run(options: BenchOptions): Promise<Line[]>
}

/** Benches never fail for being slow; they fail when what they measured was not the work they claim. */
export function assertEqual(found: unknown, expected: unknown, what: string): void {
  if (Object.is(found, expected)) return
  throw new Error(`${what}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`)
}

export function atMost(value: number, most: number, unit: Unit): Aim {
  const space = unit === '×' ? '' : ' '
  return { text: `≤ ${most}${space}${unit}`, met: value <= most }
}

/** Both aims in one. */
export function bothAims(first: Aim, second: Aim): Aim {
  return { text: `${first.text} and ${second.text}`, met: first.met && second.met }
}
