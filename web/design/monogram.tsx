import { inertLine } from './inert-text.ts'

/* An agent is a monogram, a position, then a colour: the 13th reuses the first colour. */

const COLOURS = 12

/** Two characters for a label: `Ar` for architect, `D2` for developer-2. */
export function monogramText(label: string): string {
  const text = inertLine(label, 60).trim()
  const number = /[-_ #](\d+)$/.exec(text)?.[1]
  const [first = '?', second = ''] = [...text]
  if (number !== undefined) return `${first.toUpperCase()}${number.slice(-1)}`
  const words = text.split(/[-_ ./:]+/).filter(Boolean)
  const [one, two] = words
  if (words.length > 1 && one && two) return `${[...one][0]?.toUpperCase()}${[...two][0]?.toLowerCase()}`
  return `${first.toUpperCase()}${second.toLowerCase()}`
}

/** The number of the lane colour, from 1 to 12, by order of appearance. */
export function laneColour(index: number): number {
  return (((index % COLOURS) + COLOURS) % COLOURS) + 1
}

/** `index` is the position of the lane in its run; `person` draws a circle. */
export function Monogram({ label, index, person = false }: { label: string; index: number; person?: boolean }) {
  const colour = person ? 'person' : `lane-${laneColour(index)}`
  return (
    <span className={`monogram ${colour}`} title={inertLine(label, 120)} aria-hidden="true">
      {monogramText(label)}
    </span>
  )
}
