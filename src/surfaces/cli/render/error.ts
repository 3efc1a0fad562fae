import type { ErrorRecord } from '../../../errors.ts'
import type { Look } from './line.ts'
import { typable } from './line.ts'
import { harmless, oneLine, wrap } from './width.ts'

const MOST_NAMED = 8

type Told = Pick<ErrorRecord, 'message' | 'hint' | 'alternatives'>

/** In one line, for trees and lists. */
export function told(error: Pick<ErrorRecord, 'code' | 'message'>): string {
  return `${error.code}: ${oneLine(error.message)}`
}

/** What happened, what to do, and what else there is; each at most once. */
export function errorLines(error: Told, look: Look): string[] {
  const { message, hint, alternatives } = error
  const lines = labelled('error', message, look)
  if (hint !== '' && !message.includes(hint)) lines.push(...labelled('hint', typable(look, hint), look))
  const unsaid = alternatives.filter((name) => !message.includes(name) && !hint.includes(name))
  if (unsaid.length > 0 && !namesThem(error)) {
    const more = alternatives.length > MOST_NAMED ? ` and ${alternatives.length - MOST_NAMED} more` : ''
    lines.push(...labelled('known', alternatives.slice(0, MOST_NAMED).join(', ') + more, look))
  }
  return lines
}

/** The message lists the alternatives already; naming the far ones again would bury the near ones. */
function namesThem({ message, alternatives }: Told): boolean {
  return alternatives[0] !== undefined && message.includes(alternatives[0])
}

const STYLES = { error: 'red', hint: 'yellow', known: 'dim' } as const

export function labelled(label: keyof typeof STYLES, text: string, look: Look): string[] {
  const head = `${label}: `
  return wrap(head + harmless(text).trim(), look.width, 2).map((words, index) =>
    index === 0 ? look.paint(STYLES[label], head) + words.slice(head.length) : words,
  )
}
