import { nearestNames } from '../../errors.ts'

/** The known name that a misspelled name most likely refers to. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const [candidate] = nearestNames(name, known)
  if (candidate === undefined || name.length < 4) return undefined
  return letterDistance(name.toLowerCase(), candidate.toLowerCase()) <= 2 ? candidate : undefined
}

function letterDistance(a: string, b: string): number {
  const unmatched = [...b]
  let missing = 0
  for (const letter of a) {
    const index = unmatched.indexOf(letter)
    if (index < 0) missing++
    else unmatched.splice(index, 1)
  }
  return missing + unmatched.length
}
