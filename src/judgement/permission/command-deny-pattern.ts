import { matchesWildcard } from './permission-rule.ts'
import type { ShellWord } from './shell-command.ts'

/** `maybe`: static analysis cannot tell. */
export type RuleMatch = 'yes' | 'maybe' | 'no'

/** Words examined one by one; bounds the work for hostile input. */
export const MAX_WORDS = 64

/** The pattern of a deny rule for commands. */
export interface DenyPattern {
  /** The words to find, in this order; the last may end in a star. */
  words: string[]
  /** A pattern with stars in other places, matched against the whole command. */
  wildcard: string | undefined
}

/** `Bash(rm)` and `Bash(rm:*)` deny the same commands: further arguments do not get past a deny rule. */
export function parseDenyPattern(pattern: string): DenyPattern {
  const plain = pattern.trim().replace(/(:\*| \*)$/, '')
  const inner = plain.endsWith('*') ? plain.slice(0, -1) : plain
  if (inner.includes('*')) return { words: plain.split(/\s+/), wildcard: plain }
  return { words: plain.split(/\s+/), wildcard: undefined }
}

export function strongestMatch(matches: readonly RuleMatch[]): RuleMatch {
  return matches.find((match) => match === 'yes') ?? matches.find((match) => match === 'maybe') ?? 'no'
}

export function commandBaseName(word: ShellWord | undefined): string {
  return word?.text.split('/').at(-1) ?? ''
}

/** Whether the command words match the pattern, allowing any options between the words of the pattern. */
export function matchDenyPattern(
  { words: wanted, wildcard }: DenyPattern,
  commandWords: readonly ShellWord[],
): RuleMatch {
  const words = expandGitCommand(commandWords)
  const [program] = words
  const [first = '', ...others] = wanted
  if (program?.opaque) return 'maybe'
  const matchesProgram =
    matchesWord(first, commandBaseName(program)) ||
    matchesWord(commandBaseName({ text: first, opaque: false }), commandBaseName(program))
  if (wildcard !== undefined && (matchesProgram || first.includes('*'))) return matchWholeCommand(wildcard, words)
  if (!matchesProgram) return 'no'
  let positions = [1]
  let uncertain = program?.text.endsWith('git') === true && words.some(({ text }) => text.startsWith('alias.'))
  for (const word of others) {
    const searches = positions.map((position) => findWord(word, words, position))
    uncertain ||= searches.some((search) => search.uncertain)
    positions = [...new Set(searches.flatMap((search) => search.positions))]
  }
  if (positions.length > 0) return 'yes'
  return uncertain ? 'maybe' : 'no'
}

/** `git-push` is the same command as `git push`. */
function expandGitCommand(words: readonly ShellWord[]): readonly ShellWord[] {
  const [, sub] = /^git-(.+)$/.exec(commandBaseName(words[0])) ?? []
  if (sub === undefined) return words
  return [{ text: 'git', opaque: false }, { text: sub, opaque: false }, ...words.slice(1)]
}

function matchWholeCommand(wildcard: string, words: readonly ShellWord[]): RuleMatch {
  const text = [commandBaseName(words[0]), ...words.slice(1).map((word) => word.text)].join(' ')
  if (matchesWildcard(wildcard, text) || matchesWildcard(`${wildcard} *`, text)) return 'yes'
  return words.some(({ opaque }) => opaque) ? 'maybe' : 'no'
}

interface WordSearch {
  /** Positions right after each occurrence. */
  positions: number[]
  /** An opaque word may be the wanted one. */
  uncertain: boolean
}

/** Searches for a word from `start` on, skipping options and their values. */
function findWord(wanted: string, words: readonly ShellWord[], start: number): WordSearch {
  const positions: number[] = []
  let [mayBeValue, uncertain] = [false, false]
  for (let index = start; index < words.length; index++) {
    const { text, opaque } = words[index] ?? { text: '', opaque: false }
    if (index >= start + MAX_WORDS) return { positions, uncertain: true }
    if (!opaque && matchesWord(wanted, text)) positions.push(index + 1)
    if (opaque) uncertain = true
    if (opaque || text.startsWith('-')) mayBeValue = true
    else if (mayBeValue) mayBeValue = false
    else break
  }
  return { positions, uncertain }
}

function matchesWord(wanted: string, text: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : wanted === text
}

/** An unknown program that has the denied command among its arguments may run it. */
export function matchMention({ words: [first = ''] }: DenyPattern, args: readonly ShellWord[]): RuleMatch {
  const name = commandBaseName({ text: first, opaque: false }).replaceAll('*', '')
  if (name === '') return 'no'
  return args.some(({ text }) => containsName(name, text) || containsName(name, withoutQuotes(text))) ? 'maybe' : 'no'
}

/** The argument may be a shell line in which the name is quoted: `1e c""url`. */
function withoutQuotes(text: string): string {
  return /['"\\]/.test(text) ? text.replace(/['"\\]/g, '') : ''
}

function containsName(name: string, text: string): boolean {
  for (let index = text.indexOf(name); index !== -1; index = text.indexOf(name, index + 1)) {
    const [before = '', after = ''] = [text[index - 1], text[index + name.length]]
    if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}
