import type { ShellWord } from './shell-command.ts'
import { matchesWildcard } from './wildcard.ts'

/*
 * Whether words of shell are the command that a forbidding rule names, or speak of it.
 */

/** `maybe` where it cannot be seen. */
export type RuleMatch = 'yes' | 'maybe' | 'no'

/** Words that are looked at one by one; nobody writes longer ones by hand. */
export const MAX_WORDS = 64

export interface DenyPattern {
  /** The words of the pattern, to be found in this order; the last may end in a star. */
  words: string[]
  /** A pattern with stars in other places, to be tried on the whole command. */
  wildcard: string | undefined
}

/** More arguments make it no other command: `Bash(rm)` and `Bash(rm:*)` forbid the same. */
export function parseDenyPattern(pattern: string): DenyPattern {
  const plain = pattern.trim().replace(/(:\*| \*)$/, '')
  const inner = plain.endsWith('*') ? plain.slice(0, -1) : plain
  if (inner.includes('*')) return { words: plain.split(/\s+/), wildcard: plain }
  return { words: plain.split(/\s+/), wildcard: undefined }
}

/** The one that matters of several. */
export function strongestMatch(touches: readonly RuleMatch[]): RuleMatch {
  return touches.find((touch) => touch === 'yes') ?? touches.find((touch) => touch === 'maybe') ?? 'no'
}

export function commandBaseName(word: ShellWord | undefined): string {
  return word?.text.split('/').at(-1) ?? ''
}

/** Whether the words are the command that is meant, with any options between its words. */
export function matchDenyPattern({ words: wanted, wildcard }: DenyPattern, given: readonly ShellWord[]): RuleMatch {
  const words = expandGitCommand(given)
  const [program] = words
  const [first = '', ...others] = wanted
  if (program?.opaque) return 'maybe'
  const named =
    matchesWord(first, commandBaseName(program)) ||
    matchesWord(commandBaseName({ text: first, opaque: false }), commandBaseName(program))
  if (wildcard !== undefined && (named || first.includes('*'))) return matchWholeCommand(wildcard, words)
  if (!named) return 'no'
  let places = [1]
  let unsure = program?.text.endsWith('git') === true && words.some(({ text }) => text.startsWith('alias.'))
  for (const word of others) {
    const found = places.map((place) => findWord(word, words, place))
    unsure ||= found.some((each) => each.unsure)
    places = [...new Set(found.flatMap((each) => each.places))]
  }
  if (places.length > 0) return 'yes'
  return unsure ? 'maybe' : 'no'
}

/** `git-push` is `git push`. */
function expandGitCommand(words: readonly ShellWord[]): readonly ShellWord[] {
  const [, sub] = /^git-(.+)$/.exec(commandBaseName(words[0])) ?? []
  if (sub === undefined) return words
  return [{ text: 'git', opaque: false }, { text: sub, opaque: false }, ...words.slice(1)]
}

function matchWholeCommand(stars: string, words: readonly ShellWord[]): RuleMatch {
  const text = [commandBaseName(words[0]), ...words.slice(1).map((word) => word.text)].join(' ')
  if (matchesWildcard(stars, text) || matchesWildcard(`${stars} *`, text)) return 'yes'
  return words.some(({ opaque }) => opaque) ? 'maybe' : 'no'
}

/** Behind which words this one stands, when options and their values are passed over; unsure where it may be unseen. */
function findWord(wanted: string, words: readonly ShellWord[], from: number): { places: number[]; unsure: boolean } {
  const places: number[] = []
  let [mayBeValue, unsure] = [false, false]
  for (let at = from; at < words.length; at++) {
    const { text, opaque } = words[at] ?? { text: '', opaque: false }
    if (at >= from + MAX_WORDS) return { places, unsure: true }
    if (!opaque && matchesWord(wanted, text)) places.push(at + 1)
    if (opaque) unsure = true
    if (opaque || text.startsWith('-')) mayBeValue = true
    else if (mayBeValue) mayBeValue = false
    else break
  }
  return { places, unsure }
}

function matchesWord(wanted: string, text: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : wanted === text
}

/** A program nobody knows, with the forbidden one among its arguments: it may well run it. */
export function matchMention({ words: [first = ''] }: DenyPattern, args: readonly ShellWord[]): RuleMatch {
  const name = commandBaseName({ text: first, opaque: false }).replaceAll('*', '')
  if (name === '') return 'no'
  return args.some(({ text }) => containsName(name, text)) ? 'maybe' : 'no'
}

function containsName(name: string, text: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + name.length]]
    if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}
