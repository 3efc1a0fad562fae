import type { ShellWord } from './shell-command.ts'

/*
 * Which programs run other programs or code, and with which arguments. A program that is in none of these lists may run
 * what its arguments mention.
 */

export const SHELLS = new Set('sh bash dash zsh ksh ash fish rbash'.split(' '))
/** Programs that run the command given in their arguments. */
export const WRAPPERS = new Set(
  (
    'sudo doas su env nice ionice chrt taskset time timeout command builtin exec nohup setsid stdbuf xargs parallel find ' +
    'fd busybox toybox unshare nsenter chroot flock watch script strace ltrace entr ssh gtimeout setpriv runuser numactl ' +
    'unbuffer chronic proot hyperfine'
  ).split(' '),
)
export const INTERPRETER =
  /^(python|ipython|pypy|perl|ruby|node|nodejs|tsx|ts-node|deno|bun|php|lua|luajit|tclsh|osascript|awk|gawk|mawk|nawk)[\d.]*$/
const CODE_OPTION = /^-(?!W)[A-Za-z]*[ceEpr]|^--(eval|print|execute|import|require|loader)|^-$/
const INFO_OPTION = /^(--version|-[vVh]|--help|--test)$/
/** Programs that never run another program, whatever their arguments. */
export const HARMLESS_PROGRAMS = new Set(
  'echo printf ls cat grep head tail wc test [ cd pwd true false : mkdir touch which'.split(' '),
)
/** Builtins that redefine command names, run a file in the current shell, or evaluate arithmetic or completion code. */
export const SOURCING_PROGRAMS = new Set('source . alias hash enable let compgen'.split(' '))
/** Variables whose value the shell expands or runs: the prompt of `set -x`, and files that a shell reads first. */
const EXECUTED_VARIABLE = /^(PS4|PROMPT_COMMAND|(BASH_)?ENV|GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+))\+?=/
/** Variables whose value is a command or options of one. A command without expansions is found like any other argument. */
const COMMAND_VARIABLE =
  /^(GIT_(SSH|EXTERNAL_DIFF|PROXY)\w*|\w*(PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|_RSH|LESSOPEN|LESSCLOSE|FLAGS|OPTIONS)|CC|CXX|LD)\+?=/

/** Whether some program may run the value of this assignment, in which a shell would expand something. */
export function isExecutedAssignment({ text, opaque }: ShellWord): boolean {
  if (EXECUTED_VARIABLE.test(text)) return true
  return COMMAND_VARIABLE.test(text) && (opaque || /[$`*?[{~]/.test(text))
}

/** Options with which a builtin evaluates its arguments: as names, as arithmetic, or as a callback. */
const EVALUATING_OPTIONS: Readonly<Record<string, RegExp>> = {
  printf: /^-\w*v/,
  test: /^-\w*v/,
  '[': /^-\w*v/,
  wait: /^-\w*p/,
  mapfile: /^-\w*C/,
  readarray: /^-\w*C/,
  ...Object.fromEntries('declare typeset local export readonly'.split(' ').map((name) => [name, /^[-+]\w*i/])),
}
/** Builtins that evaluate the subscripts of names, and with them any substitution inside `[…]` (arithmetic injection). */
const NAMING_BUILTINS = new Set(
  'read unset declare typeset local export readonly getopts mapfile readarray wait'.split(' '),
)

export function mayEvaluateArguments(program: string, args: readonly ShellWord[]): boolean {
  const option = Object.hasOwn(EVALUATING_OPTIONS, program) ? EVALUATING_OPTIONS[program] : undefined
  if (option !== undefined && args.some(({ text }) => option.test(text))) return true
  return NAMING_BUILTINS.has(program) && args.some((word) => isExecutedAssignment(word) || /\[./.test(word.text))
}

/** A script file is not inspected, whichever program runs it. */
export function runsScript(args: readonly ShellWord[]): boolean {
  const [file] = args.filter(({ text }) => !/^-[eux]+$/.test(text))
  return file !== undefined && !file.opaque && /^(?!-|\/dev\/|\/proc\/)\S+$/.test(file.text)
}

/** Whether an interpreter takes its code from an option or from standard input, not from a file. */
export function runsCode(program: string, args: readonly ShellWord[]): boolean {
  if (program.endsWith('awk')) return awkMayExecute(args)
  const file = args.findIndex(({ text }) => !text.startsWith('-'))
  const options = file === -1 ? args : args.slice(0, file)
  if (file === -1) return !options.some(({ text }) => INFO_OPTION.test(text))
  return (
    options.some(({ text }) => CODE_OPTION.test(text)) || (/^(deno|bun)/.test(program) && args[file]?.text === 'eval')
  )
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

/** Options of git before the subcommand that run nothing. */
const GIT_OPTION = /^(--no-pager|-P)$/
const GIT_SETTING = /^(user|color)\.[\w.]+=/

/** The subcommand has to follow the program directly or after harmless options, without an option that runs something. */
export function isHarmlessSubcommand([program, ...args]: readonly ShellWord[]): boolean {
  if (!program || !Object.hasOwn(HARMLESS_SUBCOMMANDS, program.text)) return false
  const start = program.text === 'git' ? skipGitOptions(args) : 0
  const sub = args[start]
  if (!sub || sub.opaque || HARMLESS_SUBCOMMANDS[program.text]?.has(sub.text) !== true) return false
  return !args.slice(start + 1).some(({ text }) => EXECUTING_OPTION.test(text))
}

function skipGitOptions(args: readonly ShellWord[]): number {
  let index = 0
  for (;;) {
    const [option, value] = [args[index], args[index + 1]]
    if (!option || option.opaque) return index
    const takesValue = option.text === '-C' || (option.text === '-c' && GIT_SETTING.test(value?.text ?? ''))
    if (!takesValue && !GIT_OPTION.test(option.text)) return index
    index += takesValue ? 2 : 1
  }
}

/*
 * Reads an awk program for ways to run other programs: `system`, `getline`, a pipe, an indirect call. A pipe inside a string or a simple regular
 * expression is none.
 */

/** Whether an awk script may run other programs, or is not visible. */
export function awkMayExecute(args: readonly ShellWord[]): boolean {
  const options = args.filter(({ text }) => text.startsWith('-'))
  if (args.length === 0 || options.some(({ text }) => !/^-[Fv]/.test(text))) return true
  if (args.some(({ opaque }) => opaque)) return true
  const program = programText(args)
  return program === undefined || /system|getline|@/.test(program) || hasPipe(program)
}

/** The first word that is neither an option nor the value of one; `-F` and `-v` alone take the next word. */
function programText(args: readonly ShellWord[]): string | undefined {
  let index = 0
  while (args[index]?.text.startsWith('-')) index += /^-[Fv]$/.test(args[index]?.text ?? '') ? 2 : 1
  return args[index]?.text
}

/** Longer programs are not read. */
const MAX_CHARACTERS = 4000
/** Text before a regular expression; after anything else, a slash may be a division. */
const BEFORE_REGEX = /(?:^|[(,{}!~;&|\n])[ \t]*$/
/** Strings, comments and simple regular expressions; or what ends the search. */
const TOKEN = /"(?:[^"\\\n]|\\.)*"|#[^\n]*|\/[^/"\\\n[\]]*\/|\|\||[/"|\\]/y

/** Fails closed: if there is a `|` anywhere, it counts as a pipe unless every part of the program is clear. */
function hasPipe(program: string): boolean {
  if (!program.includes('|')) return false
  if (program.length > MAX_CHARACTERS) return true
  for (let at = 0; at < program.length; ) {
    TOKEN.lastIndex = at
    const token = TOKEN.exec(program)?.[0] ?? ''
    if (['|', '"', '/', '\\'].includes(token)) return true
    if (token.startsWith('/') && !BEFORE_REGEX.test(program.slice(0, at))) return true
    at += token.length || 1
  }
  return false
}
