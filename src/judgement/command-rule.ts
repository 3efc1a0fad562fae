import type { ShellWord } from './shell-line.ts'
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
const CODE_OPTION = /^(-[A-Za-z]*[ceEpr]|--eval|--print|--execute|-)(=.*)?$/
/** They can only look or say something, whatever their arguments are. */
const HARMLESS = new Set('echo printf ls cat grep head tail wc test [ cd pwd true false : mkdir touch which'.split(' '))
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
  const touches = strongest(commands.map((words) => wordsTouch(wanted, words, depth)))
  return touches === 'no' && !clear ? 'maybe' : touches
}

/** The one that matters of several. */
export function strongest(touches: readonly Touch[]): Touch {
  return touches.find((touch) => touch === 'yes') ?? touches.find((touch) => touch === 'maybe') ?? 'no'
}

function wordsTouch(wanted: Wanted, all: readonly ShellWord[], depth: number): Touch {
  const start = all.findIndex(({ text }) => !KEYWORDS.has(text) && !/^\w+(\[[^\]]*\])?\+?=/.test(text))
  if (start === -1) return 'no'
  const words = all.slice(start)
  const direct = directlyTouches(wanted, words)
  if (direct !== 'no') return direct
  if (depth > 4) return 'maybe'
  const program = nameOf(words[0])
  const rest = words.slice(1)
  if (SHELLS.has(program) || program === 'eval' || program === 'trap') return runsText(wanted, rest, depth)
  if (program === 'source' || program === '.') return 'maybe'
  if (WRAPPERS.has(program)) return wrapped(wanted, words, depth)
  if (INTERPRETER.test(program)) return runsCode(program, rest) ? 'maybe' : mentions(wanted, rest)
  return HARMLESS.has(program) ? 'no' : mentions(wanted, rest)
}

function nameOf(word: ShellWord | undefined): string {
  return word?.text.split('/').at(-1) ?? ''
}

/** Whether the words are the command that is meant, with any options between its words. */
function directlyTouches({ words: wanted, stars }: Wanted, words: readonly ShellWord[]): Touch {
  const [program] = words
  const [first = '', ...others] = wanted
  if (program?.opaque) return 'maybe'
  const named = fits(first, nameOf(program)) || fits(nameOf({ text: first, opaque: false }), nameOf(program))
  if (stars !== undefined && (named || first.includes('*'))) return textTouches(stars, words)
  if (!named) return 'no'
  let places = [1]
  let unsure = program?.text.endsWith('git') === true && words.some(({ text }) => text.startsWith('alias.'))
  for (const word of others) {
    const found = places.flatMap((place) => placesOf(word, words, place))
    unsure ||= places.some((place) => words.slice(place, place + WORDS).some(({ opaque }) => opaque))
    places = [...new Set(found)]
  }
  if (places.length > 0) return 'yes'
  return unsure || words.length > WORDS ? 'maybe' : 'no'
}

function textTouches(stars: string, words: readonly ShellWord[]): Touch {
  const text = [nameOf(words[0]), ...words.slice(1).map((word) => word.text)].join(' ')
  if (starsMatch(stars, text) || starsMatch(`${stars} *`, text)) return 'yes'
  return words.some(({ opaque }) => opaque) ? 'maybe' : 'no'
}

/** Behind which words this one stands, when options and their values are passed over. */
function placesOf(wanted: string, words: readonly ShellWord[], from: number): number[] {
  const places: number[] = []
  let mayBeValue = false
  for (let at = from; at < words.length && at < from + WORDS; at++) {
    const { text, opaque } = words[at] ?? { text: '', opaque: false }
    if (!opaque && fits(wanted, text)) places.push(at + 1)
    if (opaque || text.startsWith('-')) mayBeValue = true
    else if (mayBeValue) mayBeValue = false
    else break
  }
  return places
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

function wrapped(wanted: Wanted, words: readonly ShellWord[], depth: number): Touch {
  const unseen: ShellWord = { text: '', opaque: true }
  // What they read from elsewhere comes behind what stands here.
  const given = /^(xargs|parallel|find|fd|entr)$/.test(nameOf(words[0])) ? [...words, unseen] : words
  const touches = words.slice(1, WORDS).map((word, at): Touch => {
    if (word.opaque) return 'maybe'
    const name = nameOf(word)
    const runs = SHELLS.has(name) || INTERPRETER.test(name) || name === 'eval'
    if (words.length > WORDS) return directlyTouches(wanted, given.slice(at + 1))
    if (runs) return wordsTouch(wanted, given.slice(at + 1), depth + 1)
    if (/\s/.test(word.text)) return lineTouches(wanted, word.text, depth + 1)
    return directlyTouches(wanted, given.slice(at + 1))
  })
  return strongest(words.length > WORDS ? [...touches, 'maybe'] : touches)
}

/** An interpreter that is given its program on the line, or by whoever writes into it. */
function runsCode(program: string, args: readonly ShellWord[]): boolean {
  return args.length === 0 || program.endsWith('awk') || args.some(({ text }) => CODE_OPTION.test(text))
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
