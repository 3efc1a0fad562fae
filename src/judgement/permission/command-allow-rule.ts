import type { Redirection, ShellCommand, ShellWord } from './shell-command.ts'
import { parseShellLine } from './shell-parser.ts'
import { matchesWildcard } from './wildcard.ts'

/*
 * Whether patterns allow a line of shell.
 * 1. Every command in it is allowed by a pattern, word by word; what is not plain (`beyond`) is allowed by none.
 * 2. What cannot change what a command does is passed over: streams that are joined or thrown away, variables that only
 *    colour its output, a `cd` further down where the pattern is open at its end and names no file.
 */

export interface CommandGrant {
  /** The patterns that allow it, one for each command; absent where something is not allowed. */
  allowedBy?: string[]
  /** Why nothing allows it. */
  reason?: string
}

export function findCommandGrants(patterns: readonly string[], command: string): CommandGrant {
  const { commands, unsupportedSyntax } = parseShellLine(command)
  const why = unsupportedSyntax ?? commands.map(blockingReason).find((each) => each !== undefined)
  if (why !== undefined) return { reason: `no pattern covers this: ${why}` }
  const here = patterns.map(parseAllowPattern)
  const below = here.filter(({ appliesInSubfolders }) => appliesInSubfolders)
  const by = new Set<string>()
  let usable = here
  for (const each of commands) {
    const words = stripHarmlessPrefixes(each.words)
    if (words[0]?.text === 'cd') usable = below
    const found = usable.find((pattern) => matchesAllowPattern(pattern, words))
    if (found) by.add(found.pattern)
    else if (!isNoop({ ...each, words })) return { reason: `it has '${joinQuoted(words).slice(0, 80)}' in it` }
  }
  // What stands aside needs something that it stands beside.
  return by.size > 0 ? { allowedBy: [...by] } : {}
}

/** Variables that change how something is said, not what is done. */
const HARMLESS_VARIABLE =
  /^(CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM|LANG|LC_[A-Z]+|TZ|NODE_ENV|DEBUG|RUST_BACKTRACE|CARGO_TERM_COLOR|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)=[\w.,:@%+-]*$|^(GIT_)?PAGER=cat$/
const ASSIGNMENT = /^\w+(\[[^\]]*\])?\+?=/

/** They evaluate names that they are given, and with them whatever stands in square brackets. */
const EVALUATING_BUILTINS = new Set(
  'test [ [[ printf read unset declare typeset local export readonly let wait mapfile readarray getopts compgen'.split(
    ' ',
  ),
)

/** What keeps a command from being allowed by a pattern. */
function blockingReason({ words, redirections }: ShellCommand): string | undefined {
  const elsewhere = redirections.find((each) => !isHarmlessRedirection(each))
  if (elsewhere) return `it reads or writes '${elsewhere.target.text}' by redirection`
  const core = stripHarmlessPrefixes(words)
  const [program] = core
  if (!program) return 'it sets variables, or does nothing'
  if (program.opaque) return `what '${program.text}' stands for cannot be seen`
  if (ASSIGNMENT.test(program.text)) return `it sets the variable ${program.text.split('=')[0]}`
  if (!EVALUATING_BUILTINS.has(program.text)) return undefined
  const evaluates = core.slice(1).some(({ text, opaque }) => opaque || /\[./.test(text) || /^-\w*v/.test(text))
  return evaluates ? `${program.text} may run what it is given` : undefined
}

function isHarmlessRedirection({ operator, target: { text, opaque } }: Redirection): boolean {
  if (opaque) return false
  return text === '/dev/null' || (/^[<>]&$/.test(operator) && /^(\d+|-)$/.test(text))
}

/** The command itself, without what leaves it the same. */
function stripHarmlessPrefixes(all: readonly ShellWord[]): ShellWord[] {
  let words = [...all]
  for (;;) {
    const [first, second] = words
    const text = first?.opaque === false ? first.text : ''
    if (text === '!' || text === 'time' || HARMLESS_VARIABLE.test(text)) words = words.slice(1)
    else if (text === 'timeout' && second?.opaque === false && /^\d+[smh]?$/.test(second.text)) words = words.slice(2)
    else if (text === 'git' && /^(--no-pager|-P|--no-optional-locks)$/.test(second?.text ?? ''))
      words = words.toSpliced(1, 1)
    else return words
  }
}

/** Nothing comes of it but a word on the screen, or another folder further down. */
function isNoop({ words, piped }: ShellCommand): boolean {
  const [program, ...rest] = words
  if (program?.text === 'true' || program?.text === 'false' || program?.text === ':') return true
  // Into a pipe it would be what another command is told.
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
  /** Whatever follows its words is allowed. */
  openEnded: boolean
  /** It holds below this folder too: where the same name is another file, a pattern that names one does not. */
  appliesInSubfolders: boolean
}

function parseAllowPattern(pattern: string): AllowPattern {
  const openEnded = pattern.endsWith(':*')
  const appliesInSubfolders = /(:\*| \*)$/.test(pattern) && !/[/.]/.test(pattern)
  return { pattern, words: patternWords(openEnded ? pattern.slice(0, -2) : pattern), openEnded, appliesInSubfolders }
}

function matchesAllowPattern({ words: wanted, openEnded }: AllowPattern, words: readonly ShellWord[]): boolean {
  if (wanted === undefined || words.length === 0) return false
  if (!openEnded) return isHeadStatic(wanted, words) && matchesWildcard(joinQuoted(wanted), joinQuoted(words))
  return wanted.every(({ text }, at) => words[at]?.opaque === false && words[at].text === text)
}

/** Up to the first star a pattern means what stands there, not what that may be replaced by. */
function isHeadStatic(wanted: readonly ShellWord[], words: readonly ShellWord[]): boolean {
  const star = wanted.findIndex(({ text }) => text.includes('*'))
  return words.slice(0, star === -1 ? undefined : star).every(({ opaque }) => !opaque)
}

/** The words of a pattern, read as the shell would; absent where it is more than one command. */
function patternWords(pattern: string): ShellWord[] | undefined {
  const { commands, unsupportedSyntax } = parseShellLine(pattern)
  const [command, ...others] = commands
  return unsupportedSyntax !== undefined || others.length > 0 || !command || command.redirections.length > 0
    ? undefined
    : command.words
}

/** Words with blanks in quotes, so that no other words look the same. */
function joinQuoted(words: readonly ShellWord[]): string {
  return words.map(({ text }) => (/^[^\s'"\\]+$/.test(text) ? text : JSON.stringify(text))).join(' ')
}
