import type { OpenQuestion } from '../../../views/chat-event.ts'

/** What a line means for a question: an answer, words for the team, or nothing that fits. */
export type ParsedAnswer = { answer: string } | { say: string } | { choices: readonly string[] }

export function parseAnswer({ kind, answers }: OpenQuestion, line: string): ParsedAnswer {
  const chosen = answers?.find((answer) => answer.toLowerCase() === line.toLowerCase())
  if (chosen !== undefined) return { answer: chosen }
  if (answers === undefined || kind === 'permission') return { answer: line }
  const short = ABBREVIATIONS[line.toLowerCase()]
  if (short !== undefined && answers.includes(short)) return { answer: short }
  // Whoever pauses a team mostly has something to tell it.
  if (kind === 'pause') return { say: line }
  return { choices: answers }
}

const ABBREVIATIONS: Readonly<Record<string, string>> = { y: 'yes', n: 'no', c: 'continue', s: 'step' }
