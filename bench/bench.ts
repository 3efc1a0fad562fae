/** Summary of the rounds of one measurement. */
export interface Figure {
  median: number
  min: number
  max: number
  rounds: number
}

export type Unit = 'µs' | 'ms' | '×' | 'KB' | 'MB'

/** One printed line: a figure, its ratios to other contenders, and its target. */
export interface Line {
  label: string
  figure: Figure
  unit: Unit
  /** Ratios to the named contenders. */
  ratios?: Readonly<Record<string, number>>
  target?: Target
  note?: string
}

export interface Target {
  text: string
  met: boolean
}

export interface BenchOptions {
  /** Fewer rounds and smaller sizes: a smoke test, not for published figures. */
  quick: boolean
  /** Temporary folder on the disk that is measured. */
  folder: string
}

export interface Bench {
  name: string
  title: string
  run(options: BenchOptions): Promise<Line[]>
}

/** A benchmark never fails for being slow; it fails if it did not do the work that it claims to measure. */
export function assertEqual(found: unknown, expected: unknown, label: string): void {
  if (Object.is(found, expected)) return
  throw new Error(`${label}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`)
}

export function atMost(value: number, limit: number, unit: Unit): Target {
  const space = unit === '×' ? '' : ' '
  return { text: `≤ ${limit}${space}${unit}`, met: value <= limit }
}

export function bothTargets(first: Target, second: Target): Target {
  return { text: `${first.text} and ${second.text}`, met: first.met && second.met }
}
