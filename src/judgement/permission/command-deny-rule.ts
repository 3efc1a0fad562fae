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
import { parseShellLine } from './shell-parser.ts'

/*
 * Whether a rule that forbids a command is about a line of shell. `maybe` is an answer: a line can run what nobody can see
 * in it, and then whoever forbids something has to be asked.
 */

const KEYWORDS = new Set('if then elif else while until do ! function'.split(' '))
const SHELLS = new Set('sh bash dash zsh ksh ash fish rbash'.split(' '))
/** They run what their arguments name. */
const WRAPPERS = new Set(
  (
    'sudo doas su env nice ionice chrt taskset time timeout command builtin exec nohup setsid stdbuf xargs parallel find ' +
    'fd busybox toybox unshare nsenter chroot flock watch script strace ltrace entr ssh coproc'
  ).split(' '),
)
const INTERPRETER = /^(python|perl|ruby|node|nodejs|deno|bun|php|lua|tclsh|osascript|awk|gawk|mawk|nawk)[\d.]*$/
const CODE_OPTION = /^-(?!W)[A-Za-z]*[ceEpr]|^--(eval|print|execute|import|require|loader)|^-$/
const INFO_OPTION = /^(--version|-[vVh]|--help|--test)$/
/** They can only look or say something, whatever their arguments are. */
const HARMLESS_PROGRAMS = new Set(
  'echo printf ls cat grep head tail wc test [ cd pwd true false : mkdir touch which'.split(' '),
)
/** They make names mean something else, or read commands from a file into this shell. */
const SOURCING_PROGRAMS = new Set('source . alias hash enable'.split(' '))
/** They evaluate the name of a variable, and with it whatever stands in square brackets. */
const EVALUATING_PROGRAMS = new Set('printf test ['.split(' '))

/** What a forbidding pattern has to do with a command, however that is wrapped, quoted or spelled. */
export function matchDeniedCommand(pattern: string, command: string): RuleMatch {
  return matchLine(parseDenyPattern(pattern), command, 0)
}

function matchLine(wanted: DenyPattern, text: string, depth: number): RuleMatch {
  const { commands, fullyParsed } = parseShellLine(text)
  const touches = strongestMatch(commands.map((command) => matchCommand(wanted, command, depth)))
  return touches === 'no' && !fullyParsed ? 'maybe' : touches
}

function matchCommand(wanted: DenyPattern, { words, redirections, stdin }: ShellCommand, depth: number): RuleMatch {
  const touch = matchWords(wanted, words, depth)
  if (touch === 'yes') return touch
  const strings = redirections.flatMap(({ operator, target }) => (operator === '<<<' ? target : []))
  const given = [...stdin.map((text) => ({ text, opaque: false })), ...strings]
  return strongestMatch([touch, ...(given.length > 0 ? [matchStdin(wanted, words, given)] : [])])
}

/** What a command is given to read may be what it runs. */
function matchStdin(wanted: DenyPattern, words: readonly ShellWord[], given: readonly ShellWord[]): RuleMatch {
  const names = words.map(commandBaseName)
  if (names.some((name) => SHELLS.has(name) || INTERPRETER.test(name))) return 'maybe'
  return HARMLESS_PROGRAMS.has(names[0] ?? '') ? 'no' : matchMention(wanted, given)
}

const ASSIGNMENT = /^\w+(\[[^\]]*\])?\+?=/

function matchWords(wanted: DenyPattern, all: readonly ShellWord[], depth: number): RuleMatch {
  const start = all.findIndex(({ text }) => !KEYWORDS.has(text) && !ASSIGNMENT.test(text))
  if (start === -1) return 'no'
  // Some programs run what a variable names.
  const set = all.slice(0, start).filter(({ text }) => ASSIGNMENT.test(text))
  const before = set.some(({ text }) => /^(BASH_)?ENV=/.test(text)) ? 'maybe' : matchMention(wanted, set)
  const touch = matchProgram(wanted, all.slice(start), depth)
  return touch === 'no' ? before : touch
}

function matchProgram(wanted: DenyPattern, words: readonly ShellWord[], depth: number): RuleMatch {
  const direct = matchDenyPattern(wanted, words)
  if (direct !== 'no') return direct
  if (depth > 4) return 'maybe'
  const program = commandBaseName(words[0])
  const rest = words.slice(1)
  if (program === 'eval' || program === 'trap') return matchEvaluatedText(wanted, rest, depth)
  if (SHELLS.has(program))
    return runsScript(rest) ? matchMention(wanted, rest) : matchEvaluatedText(wanted, rest, depth)
  if (SOURCING_PROGRAMS.has(program)) return 'maybe'
  if (WRAPPERS.has(program) || /^ld-(linux|musl)/.test(program)) return matchWrappedCommand(wanted, words, depth)
  if (INTERPRETER.test(program)) return runsCode(program, rest) ? 'maybe' : matchMention(wanted, rest)
  if (EVALUATING_PROGRAMS.has(program) && rest.some(({ text }) => /^-\w*v/.test(text))) return 'maybe'
  return HARMLESS_PROGRAMS.has(program) || isHarmlessSubcommand(words) ? 'no' : matchMention(wanted, rest)
}

/** A file with a script is not looked into, whoever runs it. */
function runsScript(args: readonly ShellWord[]): boolean {
  const [file] = args.filter(({ text }) => !/^-[eux]+$/.test(text))
  return file !== undefined && !file.opaque && /^(?!-|\/dev\/|\/proc\/)\S+$/.test(file.text)
}

/** A shell within the shell: what it is given on the line can be read, anything else not. */
function matchEvaluatedText(wanted: DenyPattern, args: readonly ShellWord[], depth: number): RuleMatch {
  if (args.length > MAX_WORDS) return 'maybe'
  const touches = strongestMatch(
    args.map(({ text, opaque }) => (opaque ? 'maybe' : matchLine(wanted, text, depth + 1))),
  )
  const joined = args.every(({ opaque }) => !opaque)
    ? matchLine(wanted, args.map(({ text }) => text).join(' '), depth + 1)
    : 'maybe'
  if (touches === 'yes' || joined === 'yes') return 'yes'
  return args.length === 2 && /^-[a-z]*c$/.test(args[0]?.text ?? '') ? touches : 'maybe'
}

/** They run what stands behind these words, and nothing else of theirs. */
const RUN_OPTION: Readonly<Record<string, RegExp>> = {
  find: /^-(exec|execdir|ok|okdir)$/,
  fd: /^(-[xX]|--exec(-batch)?)$/,
}
/** Where, who or how long, before the command. */
const WRAPPERS_WITH_OPERAND = new Set('flock ssh chroot taskset chrt su nsenter script'.split(' '))

/** What a wrapper runs: the first of its words that is no option, no value of one, no number and no variable. */
function matchWrappedCommand(wanted: DenyPattern, words: readonly ShellWord[], depth: number): RuleMatch {
  const wrapper = commandBaseName(words[0])
  if (wrapper === 'command' && /^-[vV]$/.test(words[1]?.text ?? '')) return 'no'
  const given = withUnknownInput(wrapper, words)
  const option = RUN_OPTION[wrapper]
  if (option) return matchExecOption(wanted, words, { option, depth })
  const touches: RuleMatch[] = []
  let mayBeValue = WRAPPERS_WITH_OPERAND.has(wrapper)
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? UNKNOWN_WORD
    if (at > MAX_WORDS) return strongestMatch([...touches, 'maybe'])
    if (word.opaque || (wrapper === 'xargs' && /^\W+$/.test(word.text))) touches.push('maybe')
    if (/\s/.test(word.text) && !word.opaque) touches.push(matchExecutedText(wanted, word.text, depth))
    if (word.opaque || word.text.startsWith('-')) mayBeValue = wrapper !== 'xargs' || !/^-[A-Za-z]./.test(word.text)
    else if (!ASSIGNMENT.test(word.text) && !/^[\d.]+[smhd]?$/.test(word.text)) {
      touches.push(matchExecutedWords(wanted, given.slice(at), { depth, surely: !mayBeValue }))
      if (!mayBeValue) break
      mayBeValue = false
    }
  }
  return wrapper === 'parallel' && touches.length === 0 ? 'maybe' : strongestMatch(touches)
}

const UNKNOWN_WORD: ShellWord = { text: '', opaque: true }

/** What some are given from elsewhere comes behind what stands here, or in the place of braces. */
function withUnknownInput(wrapper: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (!/^(xargs|parallel|find|fd|entr)$/.test(wrapper)) return words
  return [...words.map((word) => (word.text.includes('{}') ? UNKNOWN_WORD : word)), UNKNOWN_WORD]
}

function matchExecOption(
  wanted: DenyPattern,
  words: readonly ShellWord[],
  { option, depth }: { option: RegExp; depth: number },
): RuleMatch {
  if (words.length > MAX_WORDS) return strongestMatch(['maybe', matchDenyPattern(wanted, words)])
  const given = withUnknownInput('find', words)
  const touches = words.slice(1).map((word, at): RuleMatch => {
    if (word.opaque) return 'maybe'
    return option.test(word.text) ? matchExecutedWords(wanted, given.slice(at + 2), { depth, surely: true }) : 'no'
  })
  return strongestMatch(touches)
}

/** A word that may be only the value of an option has to be the command itself to count. */
function matchExecutedWords(
  wanted: DenyPattern,
  words: readonly ShellWord[],
  { depth, surely }: { depth: number; surely: boolean },
): RuleMatch {
  const name = commandBaseName(words[0])
  const runsMore = SHELLS.has(name) || INTERPRETER.test(name) || WRAPPERS.has(name) || name === 'eval'
  return surely || runsMore ? matchWords(wanted, words, depth + 1) : matchDenyPattern(wanted, words)
}

/** A word with blanks that a wrapper is given may be a line; so may be the value of an option within it. */
function matchExecutedText(wanted: DenyPattern, text: string, depth: number): RuleMatch {
  if (!text.startsWith('-')) return matchLine(wanted, text, depth + 1)
  const value = text.startsWith('--') ? text.slice(text.indexOf('=') + 1) : text.slice(2)
  return matchLine(wanted, value, depth + 1)
}

/** An interpreter that is given its program on the line, or by whoever writes into it. */
function runsCode(program: string, args: readonly ShellWord[]): boolean {
  if (program.endsWith('awk')) return awkMayExecute(args)
  const file = args.findIndex(({ text }) => !text.startsWith('-'))
  const options = file === -1 ? args : args.slice(0, file)
  if (file === -1) return !options.some(({ text }) => INFO_OPTION.test(text))
  return options.some(({ text }) => CODE_OPTION.test(text))
}

/*
 * Well known programs that run nothing of what their arguments say, so that a word there that is also the name of a
 * forbidden command means nothing.
 */

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

/** The sub-command stands right behind the program, and no option runs anything. */
function isHarmlessSubcommand([program, sub, ...rest]: readonly ShellWord[]): boolean {
  if (!program || !sub || sub.opaque || !Object.hasOwn(HARMLESS_SUBCOMMANDS, program.text)) return false
  return (
    HARMLESS_SUBCOMMANDS[program.text]?.has(sub.text) === true && !rest.some(({ text }) => EXECUTING_OPTION.test(text))
  )
}

/** Whether a program of awk may run others: it calls, pipes, reads from them, or cannot be seen. */
function awkMayExecute(args: readonly ShellWord[]): boolean {
  const options = args.filter(({ text }) => text.startsWith('-'))
  if (args.length === 0 || options.some(({ text }) => !/^-[Fv]/.test(text))) return true
  return args.some(({ text, opaque }) => opaque || /system|getline|[|@]/.test(text))
}
