import type { DenyPattern, RuleMatch } from './command-deny-pattern.ts'
import {
  commandBaseName,
  MAX_WORDS,
  matchDenyPattern,
  matchMention,
  parseDenyPattern,
  strongestMatch,
} from './command-deny-pattern.ts'
import { mayRunArguments, mayRunInput } from './executing-arguments.ts'
import {
  HARMLESS_PROGRAMS,
  INTERPRETER,
  isExecutedAssignment,
  isHarmlessSubcommand,
  mayEvaluateArguments,
  runsCode,
  runsScript,
  SHELLS,
  SOURCING_PROGRAMS,
  WRAPPERS,
} from './executing-programs.ts'
import type { ShellCommand, ShellWord } from './shell-command.ts'
import { ASSIGNMENT, UNKNOWN_WORD } from './shell-command.ts'
import { parseShellLine } from './shell-parser.ts'

/*
 * Matches a shell line against deny patterns, looking through wrappers, nested shells and interpreters. `maybe` means
 * that the line can run something that static analysis does not see; the caller then has to ask a person.
 */

/**
 * The work that is left for one line, in characters and words. A command can be wrapped in so many ways that following all
 * of them takes exponential time; without work left, the answer is `maybe`.
 */
export interface MatchWork {
  left: number
}
export const MAX_MATCH_WORK = 1_000_000

interface Search {
  pattern: DenyPattern
  work: MatchWork
}

/** Whether a deny pattern matches a shell line, however the command is wrapped, quoted or spelled. */
export function matchDeniedCommand(
  pattern: string,
  line: string,
  work: MatchWork = { left: MAX_MATCH_WORK },
): RuleMatch {
  return matchLine({ pattern: parseDenyPattern(pattern), work }, line, 0)
}

function matchLine(search: Search, line: string, depth: number): RuleMatch {
  if (search.work.left < 0) return 'maybe'
  search.work.left -= line.length
  const { commands, fullyParsed } = parseShellLine(line)
  const match = strongestMatch(commands.map((command) => matchCommand(search, command, depth)))
  return match === 'no' && !fullyParsed ? 'maybe' : match
}

function matchCommand(search: Search, { words, redirections, stdin }: ShellCommand, depth: number): RuleMatch {
  const match = matchWords(search, words, depth)
  if (match === 'yes') return match
  const hereStrings = redirections.flatMap(({ operator, target }) => (operator === '<<<' ? target : []))
  const input = [...stdin.map((text) => ({ text, opaque: false })), ...hereStrings]
  return strongestMatch([match, ...(input.length > 0 ? [matchStdin(search, words, input)] : [])])
}

/** A shell, an interpreter or a database client runs its standard input. */
function matchStdin(search: Search, words: readonly ShellWord[], input: readonly ShellWord[]): RuleMatch {
  const names = words.map(commandBaseName)
  if (names.some((name) => SHELLS.has(name) || INTERPRETER.test(name) || mayRunInput(name, input))) return 'maybe'
  return HARMLESS_PROGRAMS.has(names[0] ?? '') ? 'no' : matchMention(search.pattern, input)
}

function matchWords(search: Search, all: readonly ShellWord[], depth: number): RuleMatch {
  if (search.work.left < 0) return 'maybe'
  search.work.left -= all.length + 1
  const program = all.findIndex(({ text }) => !ASSIGNMENT.test(text))
  const start = program === -1 ? all.length : program
  const assignments = all.slice(0, start)
  const isExecuted = assignments.some(isExecutedAssignment)
  if (start === all.length) return isExecuted ? 'maybe' : 'no'
  // Some programs run the command in an environment variable, such as GIT_SSH_COMMAND.
  const assignmentMatch = isExecuted ? 'maybe' : matchMention(search.pattern, assignments)
  const match = matchProgram(search, all.slice(start), depth)
  return match === 'no' ? assignmentMatch : match
}

function matchProgram(search: Search, words: readonly ShellWord[], depth: number): RuleMatch {
  const direct = matchDenyPattern(search.pattern, words)
  if (direct !== 'no') return direct
  if (depth > 4) return 'maybe'
  const program = commandBaseName(words[0])
  const rest = words.slice(1)
  if (program === 'eval' || program === 'trap') return matchEvaluatedText(search, rest, depth)
  if (SHELLS.has(program))
    return runsScript(rest) ? matchMention(search.pattern, rest) : matchEvaluatedText(search, rest, depth)
  if (SOURCING_PROGRAMS.has(program)) return 'maybe'
  if (WRAPPERS.has(program) || /^ld-(linux|musl)/.test(program)) return matchWrappedCommand(search, words, depth)
  if (INTERPRETER.test(program)) return runsCode(program, rest) ? 'maybe' : matchMention(search.pattern, rest)
  if (mayEvaluateArguments(program, rest)) return 'maybe'
  if (HARMLESS_PROGRAMS.has(program) || isHarmlessSubcommand(words)) return 'no'
  return mayRunText(search, program, rest) ? 'maybe' : matchMention(search.pattern, rest)
}

function mayRunText({ work }: Search, program: string, args: readonly ShellWord[]): boolean {
  if (work.left < 0) return true
  for (const { text } of args) work.left -= text.length
  return mayRunArguments(program, args)
}

/** A nested shell (`eval`, `sh -c`): code given as an argument is parsed; any other code is unknown. */
function matchEvaluatedText(search: Search, args: readonly ShellWord[], depth: number): RuleMatch {
  if (args.length > MAX_WORDS) return 'maybe'
  const single = strongestMatch(args.map(({ text, opaque }) => (opaque ? 'maybe' : matchLine(search, text, depth + 1))))
  const joined = args.every(({ opaque }) => !opaque)
    ? matchLine(search, args.map(({ text }) => text).join(' '), depth + 1)
    : 'maybe'
  if (single === 'yes' || joined === 'yes') return 'yes'
  return args.length === 2 && /^-[a-z]*c$/.test(args[0]?.text ?? '') ? single : 'maybe'
}

/** Programs that run only the words after one of these options. */
const RUN_OPTION: Readonly<Record<string, RegExp>> = {
  find: /^-(exec|execdir|ok|okdir)$/,
  fd: /^(-[xX]|--exec(-batch)?)$/,
}
/** Wrappers that take an operand (host, lock file, user, mask) before the command. */
const WRAPPERS_WITH_OPERAND = new Set('flock ssh chroot taskset chrt su nsenter script'.split(' '))

/** Wrappers that give their words, joined by blanks, to a shell. */
const JOINING_WRAPPERS = new Set('watch ssh parallel'.split(' '))
/** A word that a shell would split or expand; `{}` is a placeholder. */
const SHELL_TEXT = /[\s$`*?[\\]|\{(?!\})/

/** A wrapper runs its first word that is not an option, an option's value, a number or an assignment. */
function matchWrappedCommand(search: Search, words: readonly ShellWord[], depth: number): RuleMatch {
  const wrapper = commandBaseName(words[0])
  if (wrapper === 'command' && /^-[vV]$/.test(words[1]?.text ?? '')) return 'no'
  const executed = withUnknownInput(wrapper, words)
  const option = RUN_OPTION[wrapper]
  if (option) return matchExecOption(search, words, { option, depth })
  const matches: RuleMatch[] = []
  let mayBeValue = WRAPPERS_WITH_OPERAND.has(wrapper)
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? UNKNOWN_WORD
    if (index > MAX_WORDS || search.work.left < 0) return strongestMatch([...matches, 'maybe'])
    if (word.opaque || (wrapper === 'xargs' && /^\W+$/.test(word.text))) matches.push('maybe')
    if (SHELL_TEXT.test(word.text) && !word.opaque) matches.push(matchExecutedText(search, word.text, depth))
    if (word.text.startsWith('-') || ASSIGNMENT.test(word.text)) matches.push(matchOptionValue(search, word, depth))
    if (word.opaque || word.text.startsWith('-')) mayBeValue = wrapper !== 'xargs' || !/^-[A-Za-z]./.test(word.text)
    else if (!ASSIGNMENT.test(word.text) && !/^[\d.]+[smhd]?$/.test(word.text)) {
      matches.push(matchExecutedWords(search, executed.slice(index), { depth, isCommand: !mayBeValue }))
      if (JOINING_WRAPPERS.has(wrapper)) matches.push(matchJoinedWords(search, words.slice(index), depth))
      if (!mayBeValue) break
      mayBeValue = false
    }
  }
  return wrapper === 'parallel' && matches.length === 0 ? 'maybe' : strongestMatch(matches)
}

function matchJoinedWords(search: Search, words: readonly ShellWord[], depth: number): RuleMatch {
  return matchLine(search, words.map(({ text }) => text).join(' '), depth + 1)
}

/** `env -Srm`, `ssh -o ProxyCommand=rm` and `env PAGER=rm git log` run the value of an option or a variable. */
function matchOptionValue(search: Search, { text, opaque }: ShellWord, depth: number): RuleMatch {
  if (isExecutedAssignment({ text, opaque })) return 'maybe'
  const value = /^-[^-]/.test(text) ? text.slice(2) : text.slice(text.indexOf('=') + 1)
  if (!opaque && /^-S|^--s[a-z-]*=/.test(text)) return matchLine(search, value, depth + 1)
  return matchMention(search.pattern, [
    { text, opaque },
    { text: value, opaque },
  ])
}

/** `xargs`, `find` and the like append words from their input, or put them in place of `{}`. */
function withUnknownInput(wrapper: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (!/^(xargs|parallel|find|fd|entr)$/.test(wrapper)) return words
  return [...words.map((word) => (word.text.includes('{}') ? UNKNOWN_WORD : word)), UNKNOWN_WORD]
}

function matchExecOption(
  search: Search,
  words: readonly ShellWord[],
  { option, depth }: { option: RegExp; depth: number },
): RuleMatch {
  if (words.length > MAX_WORDS) return strongestMatch(['maybe', matchDenyPattern(search.pattern, words)])
  const executed = withUnknownInput('find', words)
  const matches = words.slice(1).map((word, index): RuleMatch => {
    if (word.opaque) return 'maybe'
    if (!option.test(word.text)) return 'no'
    return matchExecutedWords(search, executed.slice(index + 2), { depth, isCommand: true })
  })
  return strongestMatch(matches)
}

/** Words that may be only the value of an option count only if they match the pattern directly. */
function matchExecutedWords(
  search: Search,
  words: readonly ShellWord[],
  { depth, isCommand }: { depth: number; isCommand: boolean },
): RuleMatch {
  const name = commandBaseName(words[0])
  const isRunner = SHELLS.has(name) || INTERPRETER.test(name) || WRAPPERS.has(name) || name === 'eval'
  const runsMore = isCommand || isRunner || mayRunText(search, name, words.slice(1))
  return runsMore ? matchWords(search, words, depth + 1) : matchDenyPattern(search.pattern, words)
}

/** A quoted argument with blanks may be a shell line, and so may the option value in it. */
function matchExecutedText(search: Search, text: string, depth: number): RuleMatch {
  if (!text.startsWith('-')) return matchLine(search, text, depth + 1)
  const value = text.startsWith('--') ? text.slice(text.indexOf('=') + 1) : text.slice(2)
  return matchLine(search, value, depth + 1)
}
