import { createContext, useContext } from 'react'
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

/** Two characters for each label, different ones as long as there are enough letters: `De` for default, `Dv` for devops. */
export function uniqueMonograms(labels: readonly string[]): ReadonlyMap<string, string> {
  const byLabel = new Map<string, string>()
  const taken = new Set<string>()
  for (const label of labels) {
    if (byLabel.has(label)) continue
    const usual = monogramText(label)
    const others = [...inertLine(label, 60).slice(1)].filter((character) => /[\p{L}\p{N}]/u.test(character))
    const choices = [usual, ...others.map((character) => `${[...usual][0]}${character.toLowerCase()}`)]
    const chosen = choices.find((choice) => !taken.has(choice)) ?? usual
    taken.add(chosen)
    byLabel.set(label, chosen)
  }
  return byLabel
}

/** The monograms of the agents that are shown together. */
export const MonogramContext = createContext<ReadonlyMap<string, string>>(new Map())

/** The number of the lane colour, from 1 to 12, by order of appearance. */
export function laneColour(index: number): number {
  return (((index % COLOURS) + COLOURS) % COLOURS) + 1
}

/** `index` is the position of the lane in its run; `person` draws a circle. */
export function Monogram({ label, index, person = false }: { label: string; index: number; person?: boolean }) {
  const monograms = useContext(MonogramContext)
  const colour = person ? 'person' : `lane-${laneColour(index)}`
  return (
    <span className={`monogram ${colour}`} title={inertLine(label, 120)} aria-hidden="true">
      {monograms.get(label) ?? monogramText(label)}
    </span>
  )
}
