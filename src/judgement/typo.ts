import { nearest } from '../errors.ts'

/** The known name that was probably meant, when the letters are nearly the same. */
export function meantName(name: string, known: readonly string[]): string | undefined {
  const [candidate] = nearest(name, known)
  if (candidate === undefined || name.length < 4) return undefined
  return lettersApart(name.toLowerCase(), candidate.toLowerCase()) <= 2 ? candidate : undefined
}

function lettersApart(a: string, b: string): number {
  const left = [...b]
  let alone = 0
  for (const letter of a) {
    const at = left.indexOf(letter)
    if (at < 0) alone++
    else left.splice(at, 1)
  }
  return alone + left.length
}
