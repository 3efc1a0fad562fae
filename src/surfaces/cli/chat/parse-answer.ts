import type { OpenQuestion } from '../../../patterns/team/chat-event.ts'

/** A line as reply to a question: an answer, a message to the team, or invalid with the allowed choices. */
export type ParsedAnswer = { answer: string } | { say: string } | { choices: readonly string[] }

export function parseAnswer({ kind, answers }: OpenQuestion, line: string): ParsedAnswer {
  const chosen = answers?.find((answer) => answer.toLowerCase() === line.toLowerCase())
  if (chosen !== undefined) return { answer: chosen }
  if (answers === undefined || kind === 'permission') return { answer: line }
  const full = ABBREVIATIONS[line.toLowerCase()]
  if (full !== undefined && answers.includes(full)) return { answer: full }
  // A user who has paused a team usually wants to send a message.
  if (kind === 'pause') return { say: line }
  return { choices: answers }
}

const ABBREVIATIONS: Readonly<Record<string, string>> = { y: 'yes', n: 'no', c: 'continue', s: 'step' }
