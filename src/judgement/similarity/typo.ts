import { nearestNames } from '../../errors.ts'

/** The known name that was probably meant, when the letters are nearly the same. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const [candidate] = nearestNames(name, known)
  if (candidate === undefined || name.length < 4) return undefined
  return letterDistance(name.toLowerCase(), candidate.toLowerCase()) <= 2 ? candidate : undefined
}

function letterDistance(a: string, b: string): number {
  const left = [...b]
  let alone = 0
  for (const letter of a) {
    const at = left.indexOf(letter)
    if (at < 0) alone++
    else left.splice(at, 1)
  }
  return alone + left.length
}
