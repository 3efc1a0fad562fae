import type { DenyPattern, RuleMatch } from './command-deny-pattern.ts'
import {
  commandBaseName,
  MAX_WORDS,
  matchDenyPattern,
  matchMention,
  parseDenyPattern,
  strongestMatch,
} from './command-deny-pattern.ts'
import type { ShellCommand, ShellWord } from './shell-command.ts'
import { ASSIGNMENT } from './shell-command.ts'
import { parseShellLine } from './shell-parser.ts'

/*
 * Matches a shell line against deny patterns, looking through wrappers, nested shells and interpreters. `maybe` means
 * that the line can run something that static analysis does not see; the caller then has to ask a person.
 */

const KEYWORDS = new Set('if then elif else while until do ! function'.split(' '))
const SHELLS = new Set('sh bash dash zsh ksh ash fish rbash'.split(' '))
/** Programs that run the command given in their arguments. */
const WRAPPERS = new Set(
  (
    'sudo doas su env nice ionice chrt taskset time timeout command builtin exec nohup setsid stdbuf xargs parallel find ' +
    'fd busybox toybox unshare nsenter chroot flock watch script strace ltrace entr ssh coproc'
  ).split(' '),
)
const INTERPRETER = /^(python|perl|ruby|node|nodejs|deno|bun|php|lua|tclsh|osascript|awk|gawk|mawk|nawk)[\d.]*$/
const CODE_OPTION = /^-(?!W)[A-Za-z]*[ceEpr]|^--(eval|print|execute|import|require|loader)|^-$/
const INFO_OPTION = /^(--version|-[vVh]|--help|--test)$/
/** Programs that never run another program, whatever their arguments. */
const HARMLESS_PROGRAMS = new Set(
  'echo printf ls cat grep head tail wc test [ cd pwd true false : mkdir touch which'.split(' '),
)
/** Builtins that redefine command names or run a file in the current shell. */
const SOURCING_PROGRAMS = new Set('source . alias hash enable'.split(' '))
/** Programs that evaluate a variable name, and with it any substitution inside `[…]`. */
const EVALUATING_PROGRAMS = new Set('printf test ['.split(' '))

/** Whether a deny pattern matches a shell line, however the command is wrapped, quoted or spelled. */
export function matchDeniedCommand(pattern: string, line: string): RuleMatch {
  return matchLine(parseDenyPattern(pattern), line, 0)
}

function matchLine(pattern: DenyPattern, line: string, depth: number): RuleMatch {
  const { commands, fullyParsed } = parseShellLine(line)
  const match = strongestMatch(commands.map((command) => matchCommand(pattern, command, depth)))
  return match === 'no' && !fullyParsed ? 'maybe' : match
}

function matchCommand(pattern: DenyPattern, { words, redirections, stdin }: ShellCommand, depth: number): RuleMatch {
  const match = matchWords(pattern, words, depth)
  if (match === 'yes') return match
  const hereStrings = redirections.flatMap(({ operator, target }) => (operator === '<<<' ? target : []))
  const input = [...stdin.map((text) => ({ text, opaque: false })), ...hereStrings]
  return strongestMatch([match, ...(input.length > 0 ? [matchStdin(pattern, words, input)] : [])])
}

/** A shell or interpreter runs its standard input. */
function matchStdin(pattern: DenyPattern, words: readonly ShellWord[], input: readonly ShellWord[]): RuleMatch {
  const names = words.map(commandBaseName)
  if (names.some((name) => SHELLS.has(name) || INTERPRETER.test(name))) return 'maybe'
  return HARMLESS_PROGRAMS.has(names[0] ?? '') ? 'no' : matchMention(pattern, input)
}

function matchWords(pattern: DenyPattern, all: readonly ShellWord[], depth: number): RuleMatch {
  const start = all.findIndex(({ text }) => !KEYWORDS.has(text) && !ASSIGNMENT.test(text))
  if (start === -1) return 'no'
  // Some programs run the command in an environment variable, such as GIT_SSH_COMMAND.
  const assignments = all.slice(0, start).filter(({ text }) => ASSIGNMENT.test(text))
  const setsShellEnv = assignments.some(({ text }) => /^(BASH_)?ENV=/.test(text))
  const assignmentMatch = setsShellEnv ? 'maybe' : matchMention(pattern, assignments)
  const match = matchProgram(pattern, all.slice(start), depth)
  return match === 'no' ? assignmentMatch : match
}

function matchProgram(pattern: DenyPattern, words: readonly ShellWord[], depth: number): RuleMatch {
  const direct = matchDenyPattern(pattern, words)
  if (direct !== 'no') return direct
  if (depth > 4) return 'maybe'
  const program = commandBaseName(words[0])
  const rest = words.slice(1)
  if (program === 'eval' || program === 'trap') return matchEvaluatedText(pattern, rest, depth)
  if (SHELLS.has(program))
    return runsScript(rest) ? matchMention(pattern, rest) : matchEvaluatedText(pattern, rest, depth)
  if (SOURCING_PROGRAMS.has(program)) return 'maybe'
  if (WRAPPERS.has(program) || /^ld-(linux|musl)/.test(program)) return matchWrappedCommand(pattern, words, depth)
  if (INTERPRETER.test(program)) return runsCode(program, rest) ? 'maybe' : matchMention(pattern, rest)
  if (EVALUATING_PROGRAMS.has(program) && rest.some(({ text }) => /^-\w*v/.test(text))) return 'maybe'
  return HARMLESS_PROGRAMS.has(program) || isHarmlessSubcommand(words) ? 'no' : matchMention(pattern, rest)
}

/** A script file is not inspected, whichever program runs it. */
function runsScript(args: readonly ShellWord[]): boolean {
  const [file] = args.filter(({ text }) => !/^-[eux]+$/.test(text))
  return file !== undefined && !file.opaque && /^(?!-|\/dev\/|\/proc\/)\S+$/.test(file.text)
}

/** A nested shell (`eval`, `sh -c`): code given as an argument is parsed; any other code is unknown. */
function matchEvaluatedText(pattern: DenyPattern, args: readonly ShellWord[], depth: number): RuleMatch {
  if (args.length > MAX_WORDS) return 'maybe'
  const single = strongestMatch(
    args.map(({ text, opaque }) => (opaque ? 'maybe' : matchLine(pattern, text, depth + 1))),
  )
  const joined = args.every(({ opaque }) => !opaque)
    ? matchLine(pattern, args.map(({ text }) => text).join(' '), depth + 1)
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

/** A wrapper runs its first word that is not an option, an option's value, a number or an assignment. */
function matchWrappedCommand(pattern: DenyPattern, words: readonly ShellWord[], depth: number): RuleMatch {
  const wrapper = commandBaseName(words[0])
  if (wrapper === 'command' && /^-[vV]$/.test(words[1]?.text ?? '')) return 'no'
  const executed = withUnknownInput(wrapper, words)
  const option = RUN_OPTION[wrapper]
  if (option) return matchExecOption(pattern, words, { option, depth })
  const matches: RuleMatch[] = []
  let mayBeValue = WRAPPERS_WITH_OPERAND.has(wrapper)
  for (let index = 1; index < words.length; index++) {
    const word = words[index] ?? UNKNOWN_WORD
    if (index > MAX_WORDS) return strongestMatch([...matches, 'maybe'])
    if (word.opaque || (wrapper === 'xargs' && /^\W+$/.test(word.text))) matches.push('maybe')
    if (/\s/.test(word.text) && !word.opaque) matches.push(matchExecutedText(pattern, word.text, depth))
    if (word.opaque || word.text.startsWith('-')) mayBeValue = wrapper !== 'xargs' || !/^-[A-Za-z]./.test(word.text)
    else if (!ASSIGNMENT.test(word.text) && !/^[\d.]+[smhd]?$/.test(word.text)) {
      matches.push(matchExecutedWords(pattern, executed.slice(index), { depth, isCommand: !mayBeValue }))
      if (!mayBeValue) break
      mayBeValue = false
    }
  }
  return wrapper === 'parallel' && matches.length === 0 ? 'maybe' : strongestMatch(matches)
}

const UNKNOWN_WORD: ShellWord = { text: '', opaque: true }

/** `xargs`, `find` and the like append words from their input, or put them in place of `{}`. */
function withUnknownInput(wrapper: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (!/^(xargs|parallel|find|fd|entr)$/.test(wrapper)) return words
  return [...words.map((word) => (word.text.includes('{}') ? UNKNOWN_WORD : word)), UNKNOWN_WORD]
}

function matchExecOption(
  pattern: DenyPattern,
  words: readonly ShellWord[],
  { option, depth }: { option: RegExp; depth: number },
): RuleMatch {
  if (words.length > MAX_WORDS) return strongestMatch(['maybe', matchDenyPattern(pattern, words)])
  const executed = withUnknownInput('find', words)
  const matches = words.slice(1).map((word, index): RuleMatch => {
    if (word.opaque) return 'maybe'
    if (!option.test(word.text)) return 'no'
    return matchExecutedWords(pattern, executed.slice(index + 2), { depth, isCommand: true })
  })
  return strongestMatch(matches)
}

/** Words that may be only the value of an option count only if they match the pattern directly. */
function matchExecutedWords(
  pattern: DenyPattern,
  words: readonly ShellWord[],
  { depth, isCommand }: { depth: number; isCommand: boolean },
): RuleMatch {
  const name = commandBaseName(words[0])
  const runsMore = SHELLS.has(name) || INTERPRETER.test(name) || WRAPPERS.has(name) || name === 'eval'
  return isCommand || runsMore ? matchWords(pattern, words, depth + 1) : matchDenyPattern(pattern, words)
}

/** A quoted argument with blanks may be a shell line, and so may the option value in it. */
function matchExecutedText(pattern: DenyPattern, text: string, depth: number): RuleMatch {
  if (!text.startsWith('-')) return matchLine(pattern, text, depth + 1)
  const value = text.startsWith('--') ? text.slice(text.indexOf('=') + 1) : text.slice(2)
  return matchLine(pattern, value, depth + 1)
}

/** Whether an interpreter takes its code from an option or from standard input, not from a file. */
function runsCode(program: string, args: readonly ShellWord[]): boolean {
  if (program.endsWith('awk')) return awkMayExecute(args)
  const file = args.findIndex(({ text }) => !text.startsWith('-'))
  const options = file === -1 ? args : args.slice(0, file)
  if (file === -1) return !options.some(({ text }) => INFO_OPTION.test(text))
  return options.some(({ text }) => CODE_OPTION.test(text))
}

/** Subcommands that never run their arguments: `git commit -m 'drop rm'` is not a call of `rm`. */
const PACKAGE_SUBCOMMANDS = 'install i ci add rm remove uninstall update upgrade list ls view info show search'
const HARMLESS_SUBCOMMANDS: Readonly<Record<string, ReadonlySet<string>>> = {
  git: new Set(
    'add commit rm mv status diff log show checkout switch restore branch tag stash reset blame help'.split(' '),
  ),
  ...Object.fromEntries(
    'npm pnpm yarn pip pip3 apt apt-get brew cargo'
      .split(' ')
      .map((name) => [name, new Set(PACKAGE_SUBCOMMANDS.split(' '))]),
  ),
}
const EXECUTING_OPTION = /^(-x|-O|--ext|--exec|--open|--upload|--receive|--config)/

/** The subcommand has to follow the program directly, without an option that runs something. */
function isHarmlessSubcommand([program, sub, ...rest]: readonly ShellWord[]): boolean {
  if (!program || !sub || sub.opaque || !Object.hasOwn(HARMLESS_SUBCOMMANDS, program.text)) return false
  return (
    HARMLESS_SUBCOMMANDS[program.text]?.has(sub.text) === true && !rest.some(({ text }) => EXECUTING_OPTION.test(text))
  )
}

/** Whether an awk script may run other programs: by `system`, a pipe or `getline`, or because it is not visible. */
function awkMayExecute(args: readonly ShellWord[]): boolean {
  const options = args.filter(({ text }) => text.startsWith('-'))
  if (args.length === 0 || options.some(({ text }) => !/^-[Fv]/.test(text))) return true
  return args.some(({ text, opaque }) => opaque || /system|getline|[|@]/.test(text))
}
