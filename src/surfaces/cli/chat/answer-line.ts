import type { OpenQuestion } from './happening.ts'

/** What a line means for a question: an answer, words for the team, or nothing that fits. */
export type Meaning = { answer: string } | { say: string } | { unfit: readonly string[] }

export function meaningOf({ kind, answers }: OpenQuestion, line: string): Meaning {
  const chosen = answers?.find((answer) => answer.toLowerCase() === line.toLowerCase())
  if (chosen !== undefined) return { answer: chosen }
  if (answers === undefined || kind === 'permission') return { answer: line }
  const short = SHORT[line.toLowerCase()]
  if (short !== undefined && answers.includes(short)) return { answer: short }
  // Whoever pauses a team mostly has something to tell it.
  if (kind === 'pause') return { say: line }
  return { unfit: answers }
}

const SHORT: Readonly<Record<string, string>> = { y: 'yes', n: 'no', c: 'continue', s: 'step' }
