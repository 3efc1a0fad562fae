import { isPlainUse, runsAwk } from './plain-use.ts'
import type { ShellCommand, ShellWord } from './shell-line.ts'
import { readShellLine } from './shell-line.ts'
import { starsMatch } from './stars.ts'

/*
 * Whether a rule that forbids a command is about a line of shell. `maybe` is an answer: a line can run what nobody can see
 * in it, and then whoever forbids something has to be asked.
 */

export type Touch = 'yes' | 'maybe' | 'no'

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
/** Words that are looked at one by one; nobody writes longer ones by hand. */
const WORDS = 64

/** What a forbidding pattern has to do with a command, however that is wrapped, quoted or spelled. */
export function commandTouches(pattern: string, command: string): Touch {
  return lineTouches(wantedIn(pattern), command, 0)
}

interface Wanted {
  /** The words of the pattern, to be found in this order; the last may end in a star. */
  words: string[]
  /** A pattern with stars in other places, to be tried on the whole command. */
  stars: string | undefined
}

/** More arguments make it no other command: `Bash(rm)` and `Bash(rm:*)` forbid the same. */
function wantedIn(pattern: string): Wanted {
  const plain = pattern.trim().replace(/(:\*| \*)$/, '')
  const inner = plain.endsWith('*') ? plain.slice(0, -1) : plain
  if (inner.includes('*')) return { words: plain.split(/\s+/), stars: plain }
  return { words: plain.split(/\s+/), stars: undefined }
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

/** The one that matters of several. */
export function strongest(touches: readonly Touch[]): Touch {
  return touches.find((touch) => touch === 'yes') ?? touches.find((touch) => touch === 'maybe') ?? 'no'
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

function nameOf(word: ShellWord | undefined): string {
  return word?.text.split('/').at(-1) ?? ''
}

/** Whether the words are the command that is meant, with any options between its words. */
function directlyTouches({ words: wanted, stars }: Wanted, given: readonly ShellWord[]): Touch {
  const words = inFull(given)
  const [program] = words
  const [first = '', ...others] = wanted
  if (program?.opaque) return 'maybe'
  const named = fits(first, nameOf(program)) || fits(nameOf({ text: first, opaque: false }), nameOf(program))
  if (stars !== undefined && (named || first.includes('*'))) return textTouches(stars, words)
  if (!named) return 'no'
  let places = [1]
  let unsure = program?.text.endsWith('git') === true && words.some(({ text }) => text.startsWith('alias.'))
  for (const word of others) {
    const found = places.map((place) => placesOf(word, words, place))
    unsure ||= found.some((each) => each.unsure)
    places = [...new Set(found.flatMap((each) => each.places))]
  }
  if (places.length > 0) return 'yes'
  return unsure ? 'maybe' : 'no'
}

/** `git-push` is `git push`. */
function inFull(words: readonly ShellWord[]): readonly ShellWord[] {
  const [, sub] = /^git-(.+)$/.exec(nameOf(words[0])) ?? []
  if (sub === undefined) return words
  return [{ text: 'git', opaque: false }, { text: sub, opaque: false }, ...words.slice(1)]
}

function textTouches(stars: string, words: readonly ShellWord[]): Touch {
  const text = [nameOf(words[0]), ...words.slice(1).map((word) => word.text)].join(' ')
  if (starsMatch(stars, text) || starsMatch(`${stars} *`, text)) return 'yes'
  return words.some(({ opaque }) => opaque) ? 'maybe' : 'no'
}

/** Behind which words this one stands, when options and their values are passed over; unsure where it may be unseen. */
function placesOf(wanted: string, words: readonly ShellWord[], from: number): { places: number[]; unsure: boolean } {
  const places: number[] = []
  let [mayBeValue, unsure] = [false, false]
  for (let at = from; at < words.length; at++) {
    const { text, opaque } = words[at] ?? { text: '', opaque: false }
    if (at >= from + WORDS) return { places, unsure: true }
    if (!opaque && fits(wanted, text)) places.push(at + 1)
    if (opaque) unsure = true
    if (opaque || text.startsWith('-')) mayBeValue = true
    else if (mayBeValue) mayBeValue = false
    else break
  }
  return { places, unsure }
}

function fits(wanted: string, text: string): boolean {
  return wanted.endsWith('*') ? text.startsWith(wanted.slice(0, -1)) : wanted === text
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

/** A program nobody knows, with the forbidden one among its arguments: it may well run it. */
function mentions({ words: [first = ''] }: Wanted, args: readonly ShellWord[]): Touch {
  const name = nameOf({ text: first, opaque: false }).replaceAll('*', '')
  if (name === '') return 'no'
  return args.some(({ text }) => isIn(name, text)) ? 'maybe' : 'no'
}

function isIn(name: string, text: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + name.length]]
    if (!/[\w.-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}
