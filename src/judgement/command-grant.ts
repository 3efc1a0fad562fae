import type { Redirection, ShellCommand, ShellWord } from './shell-command.ts'
import { readShellLine } from './shell-line.ts'
import { starsMatch } from './stars.ts'

/*
 * Whether patterns allow a line of shell.
 * 1. Every command in it is allowed by a pattern, word by word; what is not plain (`beyond`) is allowed by none.
 * 2. What cannot change what a command does is passed over: streams that are joined or thrown away, variables that only
 *    colour its output, a `cd` further down where the pattern is open at its end and names no file.
 */

export interface CommandGrant {
  /** The patterns that allow it, one for each command; absent where something is not allowed. */
  by?: string[]
  /** Why nothing allows it. */
  why?: string
}

export function grantCommand(patterns: readonly string[], command: string): CommandGrant {
  const { commands, beyond } = readShellLine(command)
  const why = beyond ?? commands.map(oddity).find((each) => each !== undefined)
  if (why !== undefined) return { why: `no pattern covers this: ${why}` }
  const here = patterns.map(readPattern)
  const below = here.filter(({ anywhere }) => anywhere)
  const by = new Set<string>()
  let usable = here
  for (const each of commands) {
    const words = coreOf(each.words)
    if (words[0]?.text === 'cd') usable = below
    const found = usable.find((pattern) => covers(pattern, words))
    if (found) by.add(found.pattern)
    else if (!isAside({ ...each, words })) return { why: `it has '${shown(words).slice(0, 80)}' in it` }
  }
  // What stands aside needs something that it stands beside.
  return by.size > 0 ? { by: [...by] } : {}
}

/** Variables that change how something is said, not what is done. */
const HARMLESS_VARIABLE =
  /^(CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM|LANG|LC_[A-Z]+|TZ|NODE_ENV|DEBUG|RUST_BACKTRACE|CARGO_TERM_COLOR|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE)=[\w.,:@%+-]*$|^(GIT_)?PAGER=cat$/
const ASSIGNMENT = /^\w+(\[[^\]]*\])?\+?=/

/** They evaluate names that they are given, and with them whatever stands in square brackets. */
const EVALUATING = new Set(
  'test [ [[ printf read unset declare typeset local export readonly let wait mapfile readarray getopts compgen'.split(
    ' ',
  ),
)

/** What keeps a command from being allowed by a pattern. */
function oddity({ words, redirections }: ShellCommand): string | undefined {
  const elsewhere = redirections.find((each) => !isHarmless(each))
  if (elsewhere) return `it reads or writes '${elsewhere.target.text}' by redirection`
  const core = coreOf(words)
  const [program] = core
  if (!program) return 'it sets variables, or does nothing'
  if (program.opaque) return `what '${program.text}' stands for cannot be seen`
  if (ASSIGNMENT.test(program.text)) return `it sets the variable ${program.text.split('=')[0]}`
  if (!EVALUATING.has(program.text)) return undefined
  const evaluates = core.slice(1).some(({ text, opaque }) => opaque || /\[./.test(text) || /^-\w*v/.test(text))
  return evaluates ? `${program.text} may run what it is given` : undefined
}

function isHarmless({ operator, target: { text, opaque } }: Redirection): boolean {
  if (opaque) return false
  return text === '/dev/null' || (/^[<>]&$/.test(operator) && /^(\d+|-)$/.test(text))
}

/** The command itself, without what leaves it the same. */
function coreOf(all: readonly ShellWord[]): ShellWord[] {
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
function isAside({ words, piped }: ShellCommand): boolean {
  const [program, ...rest] = words
  if (program?.text === 'true' || program?.text === 'false' || program?.text === ':') return true
  // Into a pipe it would be what another command is told.
  if (program?.text === 'echo' && !piped) return rest.every(saysNothing)
  const [folder] = rest
  if (program?.text !== 'cd' || rest.length !== 1 || !folder || folder.opaque) return false
  return /^[^-/]/.test(folder.text) && !folder.text.split('/').includes('..')
}

function saysNothing({ text, opaque }: ShellWord): boolean {
  return !opaque || !/[$*?[{~`]/.test(text.replaceAll('$?', ''))
}

interface CommandPattern {
  pattern: string
  words: ShellWord[] | undefined
  /** Whatever follows its words is allowed. */
  open: boolean
  /** It holds below this folder too: where the same name is another file, a pattern that names one does not. */
  anywhere: boolean
}

function readPattern(pattern: string): CommandPattern {
  const open = pattern.endsWith(':*')
  const anywhere = /(:\*| \*)$/.test(pattern) && !/[/.]/.test(pattern)
  return { pattern, words: wordsOf(open ? pattern.slice(0, -2) : pattern), open, anywhere }
}

function covers({ words: wanted, open }: CommandPattern, words: readonly ShellWord[]): boolean {
  if (wanted === undefined || words.length === 0) return false
  if (!open) return headIsSeen(wanted, words) && starsMatch(shown(wanted), shown(words))
  return wanted.every(({ text }, at) => words[at]?.opaque === false && words[at].text === text)
}

/** Up to the first star a pattern means what stands there, not what that may be replaced by. */
function headIsSeen(wanted: readonly ShellWord[], words: readonly ShellWord[]): boolean {
  const star = wanted.findIndex(({ text }) => text.includes('*'))
  return words.slice(0, star === -1 ? undefined : star).every(({ opaque }) => !opaque)
}

/** The words of a pattern, read as the shell would; absent where it is more than one command. */
function wordsOf(pattern: string): ShellWord[] | undefined {
  const { commands, beyond } = readShellLine(pattern)
  const [command, ...others] = commands
  return beyond !== undefined || others.length > 0 || !command || command.redirections.length > 0
    ? undefined
    : command.words
}

/** Words with blanks in quotes, so that no other words look the same. */
function shown(words: readonly ShellWord[]): string {
  return words.map(({ text }) => (/^[^\s'"\\]+$/.test(text) ? text : JSON.stringify(text))).join(' ')
}
