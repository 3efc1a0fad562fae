/** The words of a text in lower case, each once; a bounded number, so that one huge result stays cheap. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.slice(0, MAX_CHARACTERS).normalize('NFKC').toLowerCase().match(WORD) ?? [])
}

/** Dice coefficient of two sets of words: 0 for nothing in common, 1 for the same words. */
export function sharedWords(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  const [small, large] = a.size <= b.size ? [a, b] : [b, a]
  let shared = 0
  for (const word of small) if (large.has(word)) shared++
  return (2 * shared) / (a.size + b.size)
}

/** Whether sets of these sizes can share as much as `least`: spares the comparison of very different ones. */
export function mayShare(a: number, b: number, least: number): boolean {
  return (2 * Math.min(a, b)) / (a + b) >= least
}

const MAX_CHARACTERS = 100_000
const WORD = /[\p{L}\p{N}]+/gu
