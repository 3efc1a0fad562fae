import type { Touch, Wanted } from './named-command.ts'
import { directlyTouches, mentions, nameOf, strongest, WORDS, wantedIn } from './named-command.ts'
import { isPlainUse, runsAwk } from './plain-use.ts'
import type { ShellCommand, ShellWord } from './shell-command.ts'
import { readShellLine } from './shell-line.ts'

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
const TELLS = /^(--version|-[vVh]|--help|--test)$/
/** They can only look or say something, whatever their arguments are. */
const HARMLESS = new Set('echo printf ls cat grep head tail wc test [ cd pwd true false : mkdir touch which'.split(' '))
/** They make names mean something else, or read commands from a file into this shell. */
const UNSEEN = new Set('source . alias hash enable'.split(' '))
/** They evaluate the name of a variable, and with it whatever stands in square brackets. */
const EVALUATING = new Set('printf test ['.split(' '))

/** What a forbidding pattern has to do with a command, however that is wrapped, quoted or spelled. */
export function commandTouches(pattern: string, command: string): Touch {
  return lineTouches(wantedIn(pattern), command, 0)
}

function lineTouches(wanted: Wanted, text: string, depth: number): Touch {
  const { commands, clear } = readShellLine(text)
  const touches = strongest(commands.map((command) => commandIsTouched(wanted, command, depth)))
  return touches === 'no' && !clear ? 'maybe' : touches
}

function commandIsTouched(wanted: Wanted, { words, redirections, input }: ShellCommand, depth: number): Touch {
  const touch = wordsTouch(wanted, words, depth)
  if (touch === 'yes') return touch
  const strings = redirections.flatMap(({ operator, target }) => (operator === '<<<' ? target : []))
  const given = [...input.map((text) => ({ text, opaque: false })), ...strings]
  return strongest([touch, ...(given.length > 0 ? [inputTouches(wanted, words, given)] : [])])
}

/** What a command is given to read may be what it runs. */
function inputTouches(wanted: Wanted, words: readonly ShellWord[], given: readonly ShellWord[]): Touch {
  const names = words.map(nameOf)
  if (names.some((name) => SHELLS.has(name) || INTERPRETER.test(name))) return 'maybe'
  return HARMLESS.has(names[0] ?? '') ? 'no' : mentions(wanted, given)
}

const ASSIGNMENT = /^\w+(\[[^\]]*\])?\+?=/

function wordsTouch(wanted: Wanted, all: readonly ShellWord[], depth: number): Touch {
  const start = all.findIndex(({ text }) => !KEYWORDS.has(text) && !ASSIGNMENT.test(text))
  if (start === -1) return 'no'
  // Some programs run what a variable names.
  const set = all.slice(0, start).filter(({ text }) => ASSIGNMENT.test(text))
  const before = set.some(({ text }) => /^(BASH_)?ENV=/.test(text)) ? 'maybe' : mentions(wanted, set)
  const touch = programTouches(wanted, all.slice(start), depth)
  return touch === 'no' ? before : touch
}

function programTouches(wanted: Wanted, words: readonly ShellWord[], depth: number): Touch {
  const direct = directlyTouches(wanted, words)
  if (direct !== 'no') return direct
  if (depth > 4) return 'maybe'
  const program = nameOf(words[0])
  const rest = words.slice(1)
  if (program === 'eval' || program === 'trap') return runsText(wanted, rest, depth)
  if (SHELLS.has(program)) return runsScript(rest) ? mentions(wanted, rest) : runsText(wanted, rest, depth)
  if (UNSEEN.has(program)) return 'maybe'
  if (WRAPPERS.has(program) || /^ld-(linux|musl)/.test(program)) return wrapped(wanted, words, depth)
  if (INTERPRETER.test(program)) return runsCode(program, rest) ? 'maybe' : mentions(wanted, rest)
  if (EVALUATING.has(program) && rest.some(({ text }) => /^-\w*v/.test(text))) return 'maybe'
  return HARMLESS.has(program) || isPlainUse(words) ? 'no' : mentions(wanted, rest)
}

/** A file with a script is not looked into, whoever runs it. */
function runsScript(args: readonly ShellWord[]): boolean {
  const [file] = args.filter(({ text }) => !/^-[eux]+$/.test(text))
  return file !== undefined && !file.opaque && /^(?!-|\/dev\/|\/proc\/)\S+$/.test(file.text)
}

/** A shell within the shell: what it is given on the line can be read, anything else not. */
function runsText(wanted: Wanted, args: readonly ShellWord[], depth: number): Touch {
  if (args.length > WORDS) return 'maybe'
  const touches = strongest(args.map(({ text, opaque }) => (opaque ? 'maybe' : lineTouches(wanted, text, depth + 1))))
  const joined = args.every(({ opaque }) => !opaque)
    ? lineTouches(wanted, args.map(({ text }) => text).join(' '), depth + 1)
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
const OPERANDS = new Set('flock ssh chroot taskset chrt su nsenter script'.split(' '))

/** What a wrapper runs: the first of its words that is no option, no value of one, no number and no variable. */
function wrapped(wanted: Wanted, words: readonly ShellWord[], depth: number): Touch {
  const wrapper = nameOf(words[0])
  if (wrapper === 'command' && /^-[vV]$/.test(words[1]?.text ?? '')) return 'no'
  const given = fed(wrapper, words)
  const option = RUN_OPTION[wrapper]
  if (option) return ranByOption(wanted, words, { option, depth })
  const touches: Touch[] = []
  let mayBeValue = OPERANDS.has(wrapper)
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? UNKNOWN
    if (at > WORDS) return strongest([...touches, 'maybe'])
    if (word.opaque || (wrapper === 'xargs' && /^\W+$/.test(word.text))) touches.push('maybe')
    if (/\s/.test(word.text) && !word.opaque) touches.push(textIsRun(wanted, word.text, depth))
    if (word.opaque || word.text.startsWith('-')) mayBeValue = wrapper !== 'xargs' || !/^-[A-Za-z]./.test(word.text)
    else if (!ASSIGNMENT.test(word.text) && !/^[\d.]+[smhd]?$/.test(word.text)) {
      touches.push(isRun(wanted, given.slice(at), { depth, surely: !mayBeValue }))
      if (!mayBeValue) break
      mayBeValue = false
    }
  }
  return wrapper === 'parallel' && touches.length === 0 ? 'maybe' : strongest(touches)
}

const UNKNOWN: ShellWord = { text: '', opaque: true }

/** What some are given from elsewhere comes behind what stands here, or in the place of braces. */
function fed(wrapper: string, words: readonly ShellWord[]): readonly ShellWord[] {
  if (!/^(xargs|parallel|find|fd|entr)$/.test(wrapper)) return words
  return [...words.map((word) => (word.text.includes('{}') ? UNKNOWN : word)), UNKNOWN]
}

function ranByOption(
  wanted: Wanted,
  words: readonly ShellWord[],
  { option, depth }: { option: RegExp; depth: number },
): Touch {
  if (words.length > WORDS) return strongest(['maybe', directlyTouches(wanted, words)])
  const given = fed('find', words)
  const touches = words.slice(1).map((word, at): Touch => {
    if (word.opaque) return 'maybe'
    return option.test(word.text) ? isRun(wanted, given.slice(at + 2), { depth, surely: true }) : 'no'
  })
  return strongest(touches)
}

/** A word that may be only the value of an option has to be the command itself to count. */
function isRun(
  wanted: Wanted,
  words: readonly ShellWord[],
  { depth, surely }: { depth: number; surely: boolean },
): Touch {
  const name = nameOf(words[0])
  const runsMore = SHELLS.has(name) || INTERPRETER.test(name) || WRAPPERS.has(name) || name === 'eval'
  return surely || runsMore ? wordsTouch(wanted, words, depth + 1) : directlyTouches(wanted, words)
}

/** A word with blanks that a wrapper is given may be a line; so may be the value of an option within it. */
function textIsRun(wanted: Wanted, text: string, depth: number): Touch {
  if (!text.startsWith('-')) return lineTouches(wanted, text, depth + 1)
  const value = text.startsWith('--') ? text.slice(text.indexOf('=') + 1) : text.slice(2)
  return lineTouches(wanted, value, depth + 1)
}

/** An interpreter that is given its program on the line, or by whoever writes into it. */
function runsCode(program: string, args: readonly ShellWord[]): boolean {
  if (program.endsWith('awk')) return runsAwk(args)
  const file = args.findIndex(({ text }) => !text.startsWith('-'))
  const options = file === -1 ? args : args.slice(0, file)
  if (file === -1) return !options.some(({ text }) => TELLS.test(text))
  return options.some(({ text }) => CODE_OPTION.test(text))
}
