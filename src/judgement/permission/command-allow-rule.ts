import { matchesWildcard } from './permission-rule.ts'
import type { Redirection, ShellCommand, ShellWord } from './shell-command.ts'
import { ASSIGNMENT } from './shell-command.ts'
import { parseShellLine } from './shell-parser.ts'

/*
 * Matches a shell line against allow patterns such as `npm test:*`.
 * 1. Every command in the line needs a matching pattern, word by word. A line with unsupported syntax matches none.
 * 2. Anything that cannot change the effect of a command is ignored: merged or discarded streams, variables that only
 *    affect output, and a `cd` into a subfolder where the pattern is open-ended and names no file.
 */

export interface CommandGrant {
  /** The patterns that allow the line, one for each command; absent when any command is not allowed. */
  allowedBy?: string[]
  /** Why no pattern allows the line. */
  reason?: string
}

export function findCommandGrants(patterns: readonly string[], line: string): CommandGrant {
  const { commands, unsupportedSyntax } = parseShellLine(line)
  const blocked = unsupportedSyntax ?? commands.map(blockingReason).find((reason) => reason !== undefined)
  if (blocked !== undefined) return { reason: `no pattern can allow this line: ${blocked}` }
  const all = patterns.map(parseAllowPattern)
  const inSubfolders = all.filter(({ appliesInSubfolders }) => appliesInSubfolders)
  const allowedBy = new Set<string>()
  let usable = all
  for (const command of commands) {
    const words = stripHarmlessPrefixes(command.words)
    if (words[0]?.text === 'cd') usable = inSubfolders
    const match = usable.find((pattern) => matchesAllowPattern(pattern, words))
    if (match) allowedBy.add(match.pattern)
    else if (!isNoop({ ...command, words }))
      return { reason: `no pattern allows the command '${joinQuoted(words).slice(0, 80)}'` }
  }
  // A line of no-ops alone is not allowed: at least one command has to match a pattern.
  return allowedBy.size > 0 ? { allowedBy: [...allowedBy] } : {}
}

/** Environment variables that affect a program's output, not its effect. */
const HARMLESS_VARIABLE =
  /^(CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM|LANG|LC_[A-Z]+|TZ|NODE_ENV|DEBUG|RUST_BACKTRACE|CARGO_TERM_COLOR|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)=[\w.,:@%+-]*$|^(GIT_)?PAGER=cat$/

/**
 * Builtins that evaluate variable names, and with them any command substitution inside `[…]` (arithmetic injection).
 */
const EVALUATING_BUILTINS = new Set(
  'test [ [[ printf read unset declare typeset local export readonly let wait mapfile readarray getopts compgen'.split(
    ' ',
  ),
)

/** Why no pattern may allow this command, or `undefined`. */
function blockingReason({ words, redirections }: ShellCommand): string | undefined {
  const fileRedirection = redirections.find((redirection) => !isHarmlessRedirection(redirection))
  if (fileRedirection) return `it redirects to or from '${fileRedirection.target.text}'`
  const core = stripHarmlessPrefixes(words)
  const [program] = core
  if (!program) return 'it only sets variables, or is empty'
  if (program.opaque) return `the program '${program.text}' is only known at run time`
  if (ASSIGNMENT.test(program.text)) return `it sets the variable ${program.text.split('=')[0]}`
  if (!EVALUATING_BUILTINS.has(program.text)) return undefined
  const evaluates = core.slice(1).some(({ text, opaque }) => opaque || /\[./.test(text) || /^-\w*v/.test(text))
  return evaluates ? `${program.text} may evaluate its arguments` : undefined
}

function isHarmlessRedirection({ operator, target: { text, opaque } }: Redirection): boolean {
  if (opaque) return false
  return text === '/dev/null' || (/^[<>]&$/.test(operator) && /^(\d+|-)$/.test(text))
}

/** The command without prefixes that do not change its effect: `time`, `timeout 60`, `CI=1`, `git --no-pager`. */
function stripHarmlessPrefixes(words: readonly ShellWord[]): ShellWord[] {
  let start = 0
  for (; start < words.length; start++) {
    const [first, second] = [words[start], words[start + 1]]
    if (first?.opaque !== false) break
    if (first.text === 'timeout' && second?.opaque === false && /^\d+[smh]?$/.test(second.text)) start++
    else if (first.text !== 'time' && !HARMLESS_VARIABLE.test(first.text)) break
  }
  if (words[start]?.text !== 'git') return words.slice(start)
  let option = start + 1
  while (/^(--no-pager|-P|--no-optional-locks)$/.test(words[option]?.text ?? '')) option++
  return [...words.slice(start, start + 1), ...words.slice(option)]
}

/** A command without side effects: `true`, an `echo` of static text, or a `cd` into a subfolder. */
function isNoop({ words, piped }: ShellCommand): boolean {
  const [program, ...rest] = words
  if (program?.text === 'true' || program?.text === 'false' || program?.text === ':') return true
  // Piped, its output is the input of another command.
  if (program?.text === 'echo' && !piped) return rest.every(isStaticText)
  const [folder] = rest
  if (program?.text !== 'cd' || rest.length !== 1 || !folder || folder.opaque) return false
  return /^[^-/]/.test(folder.text) && !folder.text.split('/').includes('..')
}

function isStaticText({ text, opaque }: ShellWord): boolean {
  return !opaque || !/[$*?[{~`]/.test(text.replaceAll('$?', ''))
}

interface AllowPattern {
  pattern: string
  words: ShellWord[] | undefined
  /** Ends in `:*`: any further arguments are allowed. */
  openEnded: boolean
  /** False for a pattern that names a file: after a `cd` the same name is another file. */
  appliesInSubfolders: boolean
}

function parseAllowPattern(pattern: string): AllowPattern {
  const openEnded = pattern.endsWith(':*')
  const appliesInSubfolders = /(:\*| \*)$/.test(pattern) && !/[/.]/.test(pattern)
  return {
    pattern,
    words: parsePatternWords(openEnded ? pattern.slice(0, -2) : pattern),
    openEnded,
    appliesInSubfolders,
  }
}

function matchesAllowPattern({ words: patternWords, openEnded }: AllowPattern, words: readonly ShellWord[]): boolean {
  if (patternWords === undefined || words.length === 0) return false
  if (!openEnded)
    return isHeadStatic(patternWords, words) && matchesWildcard(joinQuoted(patternWords), joinQuoted(words))
  return patternWords.every(({ text }, index) => words[index]?.opaque === false && words[index].text === text)
}

/** Words before the first star have to match literally: an expansion could become anything. */
function isHeadStatic(patternWords: readonly ShellWord[], words: readonly ShellWord[]): boolean {
  const star = patternWords.findIndex(({ text }) => text.includes('*'))
  return words.slice(0, star === -1 ? undefined : star).every(({ opaque }) => !opaque)
}

/** The words of a pattern, parsed as the shell would; `undefined` when it is more than one command. */
function parsePatternWords(pattern: string): ShellWord[] | undefined {
  const { commands, unsupportedSyntax } = parseShellLine(pattern)
  const [command, ...others] = commands
  return unsupportedSyntax !== undefined || others.length > 0 || !command || command.redirections.length > 0
    ? undefined
    : command.words
}

/** Quotes words with blanks, so that different word lists never produce the same text. */
function joinQuoted(words: readonly ShellWord[]): string {
  return words.map(({ text }) => (/^[^\s'"\\]+$/.test(text) ? text : JSON.stringify(text))).join(' ')
}
