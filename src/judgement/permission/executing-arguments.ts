import { MAX_WORDS } from './command-deny-pattern.ts'
import { INTERPRETER, runsCode, SHELLS } from './executing-programs.ts'
import type { ShellWord } from './shell-command.ts'

/*
 * Programs with a language of their own that can run commands (`sed 1e`, `tar --to-command`, `git -c alias.x=!…`). This reader does not look into that
 * language: with such arguments, a deny rule cannot tell what the line runs.
 */

/** Programs whose purpose is to run what they read. */
const RUNNERS = new Set(
  'ed red emacs emacsclient gdb lldb m4 dc expect at batch crontab tmux screen socat ncat systemd-run pwsh'.split(' '),
)
/** Arguments with which they only list something; `;` begins another command of tmux, and `#(…)` runs one. */
const LISTING_ARGUMENTS: Readonly<Record<string, RegExp>> = {
  crontab: /^ -l$/,
  tmux: /^ (ls|list-[a-z]+)( [^ ;#]*)*$/,
}
/** Programs that start the command among their arguments, in a container or an environment, also a shell that reads its input. */
const LAUNCHERS = new Set(
  (
    'docker podman nerdctl kubectl oc lxc vagrant machinectl toolbox distrobox flatpak bwrap firejail fakeroot xvfb-run perf valgrind ' +
    'uv uvx pipx poetry pdm hatch rye pixi conda mamba bundle direnv nix nix-shell mise asdf npx npm pnpm yarn bunx make cmake capsh'
  ).split(' '),
)

const EVALUATORS =
  /^(R|Rscript|julia|ghc|runghc|scala|elixir|iex|erl|groovy|octave|gnuplot|jshell|ocaml|guile|sbcl|racket|swift|raku)$/
const DATABASE_CLIENT = /^(sqlite3|psql|mysql|mariadb)$/

/** Longer arguments are not searched: some of the patterns take quadratic time. */
const MAX_CHARACTERS = 4000

/** Standard input as a file. */
const INPUT = '(-( |$)|/(dev|proc)/)'
/** A value in which a shell would expand something. */
const EXPANDED = String.raw`[^ ]*[^ \t\p{L}\p{N}_.,:/@%+=-]`

/** The arguments, joined by blanks and with one before the first, that make a program run text. Long options can be abbreviated. */
const RUNNING_ARGUMENTS: readonly (readonly [program: RegExp, args: RegExp])[] = [
  [
    /^g?make$/,
    new RegExp(
      String.raw` (-[a-zBRS\d]*f ?${INPUT}|--[fm][a-z]*[= ]${INPUT}|--ev|-[a-zBRS]*E|SHELL=|[\w.]+(!=|[:?+]*=${EXPANDED}))`,
      'u',
    ),
  ],
  [/^(g|bsd)?tar$/, /^ [A-Za-z]*[IF]| -[A-Za-z]*[IF]| --(to|ch|us|rs|inf|new)/],
  [/^(vi|vim|nvim|view|ex|gvim|vimdiff)$/, / (-[A-Za-z]*[cSsWe]|--cmd|--remote|\+(?!\d+( |$)))/],
  [
    /^git$/,
    new RegExp(
      String.raw` (--exe|-[A-Za-z]*O|--ext|--up|--rec(?!ur)|--op|foreach|run |filter-|difftool|mergetool|send-email|alias\.|--config-env)|ext::` +
        String.raw`| (-c|--conf[a-z]*)[ =](?!(user|color)\.)(alias|${EXPANDED})` +
        `|^(?=.* config )(?!.* --(get|list)).* ${EXPANDED}|^(?=.* rebase ).* -[a-z]*x|^(?=.* clone ).* -[a-z]*u`,
      'u',
    ),
  ],
  [EVALUATORS, / (-e|-c|-eval|--ev|--exec|-$|-r )|^$/],
  [/^sqlite3$/, /[ \t;]\.(sh|sy|s\t|onc|ou|ex|rea|lo|im|w)|load_extension|edit\(/i],
  [/^(psql|mysql|mariadb)$/, /\\[!ogw]|\bprogram\b|\bsystem\b/i],
  [/^(less|more|most|man)$/, / (\+|-P|-H|--pager|--html)/],
  [/^(rsync|scp|sftp)$/, / (-[A-Za-z]*e|--rs|-S|-o|-D)/],
  [/^sort$/, / --co/],
  [/^split$/, / --fi/],
  [/^rg$/, / --(pre(?!tty)|hostname-bin)/],
  [/^zip$/, / (-[A-Za-z]*TT|--unz)/],
  [/^tcpdump$/, / -[A-Za-z]*z/],
  [/^install$/, / --strip-/],
  [/^(nc|netcat)$/, / -[A-Za-z]*[ec]/],
  [/^(npm|npx|pnpm|yarn|bunx)$/, /^( -\S+)* ((exec|x)( -\S+)* )?(-c|--call)/],
  [/^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+)$/, / (-wrapper|-fplugin|-B|@)/],
  [/^go$/, / --?(exec|toolexec)/],
  [/^cargo$/, / --config/],
]

/** Whether a program that is neither a shell, a wrapper nor an interpreter may run a text in its arguments. */
export function mayRunArguments(program: string, args: readonly ShellWord[]): boolean {
  if (program === 'sed' || program === 'gsed') return sedMayExecute(args)
  if (RUNNERS.has(program)) return LISTING_ARGUMENTS[program]?.test(joinArguments(args)) !== true
  if (startsInterpreter(program, args)) return true
  const running = RUNNING_ARGUMENTS.find(([name]) => name.test(program))?.[1]
  if (!running) return false
  const joined = joinArguments(args)
  return joined.length > MAX_CHARACTERS || running.test(joined) || mayContainOption(args)
}

/** Whether a program may run a text in its standard input. */
export function mayRunInput(program: string, input: readonly ShellWord[]): boolean {
  if (EVALUATORS.test(program)) return true
  return DATABASE_CLIENT.test(program) && (input.some(({ opaque }) => opaque) || mayRunArguments(program, input))
}

/** Each argument begins with a space; blanks in it become tabs. */
function joinArguments(args: readonly ShellWord[]): string {
  return args.map(({ text }) => ` ${text.replace(/\s/g, '\t')}`).join('')
}

/** A word that begins with an expansion can be an option, except after `--`; `-j$(nproc)` runs nothing. */
function mayContainOption(args: readonly ShellWord[]): boolean {
  const end = args.findIndex(({ text, opaque }) => text === '--' && !opaque)
  return args
    .slice(0, end === -1 ? undefined : end)
    .some(({ text, opaque }) => opaque && /^(-(?!j)|[$`{<]|$)/.test(text))
}

/** `docker run image sh -c …`, `uv run python -c …` */
function startsInterpreter(program: string, args: readonly ShellWord[]): boolean {
  const lastCode = args.findLastIndex(({ text }) => /^-[A-Za-z]*c$/.test(text))
  return args.some(({ text }, index) => {
    const name = text.split('/').at(-1) ?? ''
    if (SHELLS.has(name)) return LAUNCHERS.has(program) || index < lastCode
    if (!INTERPRETER.test(name) || args[index + 1]?.text.startsWith('-') !== true) return false
    return runsCode(name, args.slice(index + 1, index + MAX_WORDS))
  })
}

/* Whether a call of `sed` may run a command: by `e`, by the flag `e` of a substitution, or because its script is not visible. */

/** A command that runs nothing, such as `1,20p`, `/x/d`, `s/a/b/g` and `$!{h;d}`. Braces may enclose the parts of a split script. */
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:\\.|[^\\/\n])*/I?)`
const ADDRESSES = String.raw`(?:${ADDRESS}(?:,(?:${ADDRESS}|[+~]\d+))?)?!?`
const REPLACEMENT = String.raw`[sy]([/|#,@:!_])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI\d]*`
const HARMLESS_COMMAND = new RegExp(
  String.raw`^(?:${ADDRESSES}\{\s*)*${ADDRESSES}(?:(?:[pdqPDNnGhHgx=]|${REPLACEMENT})?(?:\s*\})*|[aic] ?[^\s\\][^\n\\]*)$`,
)

export function sedMayExecute(args: readonly ShellWord[]): boolean {
  return sedScripts(args).some(({ text, opaque }) => {
    if (opaque) return true
    // A substitution may contain a semicolon: it is then read as one command.
    const parts = text.split(/[;\n]/).map((part) => part.trim())
    return !HARMLESS_COMMAND.test(text.trim()) && !parts.every((part) => HARMLESS_COMMAND.test(part))
  })
}

const UNKNOWN_SCRIPT: ShellWord = { text: '', opaque: true }

interface SedOption {
  kind: 'script' | 'file' | 'value' | 'flag' | 'unknown'
  /** Absent when the value is the next word. */
  value: string | undefined
}

/** Long options can be abbreviated; a short one may follow flags in the same word (`-ne p`). */
function readOption(text: string): SedOption {
  const [, name = '', , long] = /^--([a-z-]*)(=(.*))?$/s.exec(text) ?? []
  if (name !== '') {
    if (name.startsWith('e')) return { kind: 'script', value: long }
    if (/^f(?!o)/.test(name)) return { kind: 'file', value: long }
    return { kind: name.startsWith('l') ? 'value' : 'flag', value: long }
  }
  const [, letter = '', rest = ''] = /^-[nErsuzb]*(.?)(.*)$/s.exec(text) ?? []
  const value = rest === '' ? undefined : rest
  if (letter === 'e') return { kind: 'script', value }
  if (letter === 'f') return { kind: 'file', value }
  if (letter === 'l') return { kind: 'value', value }
  // The text after `-i` is the suffix of the backup.
  return { kind: letter === '' || letter === 'i' ? 'flag' : 'unknown', value: '' }
}

/** The scripts of `-e`, and the first operand unless an option before it gives the script. A script file (`-f`) is not inspected. */
function sedScripts(args: readonly ShellWord[]): ShellWord[] {
  const scripts: ShellWord[] = []
  let isScriptGiven = false
  for (let index = 0; index < args.length; index++) {
    const word = args[index] ?? UNKNOWN_SCRIPT
    if (word.text === '--' && !word.opaque) {
      const operand = args[index + 1]
      return isScriptGiven || !operand ? scripts : [...scripts, operand]
    }
    if (!/^-./.test(word.text)) {
      if (!isScriptGiven) scripts.push(word)
      isScriptGiven = true
      continue
    }
    const { kind, value } = readOption(word.text)
    const takesNext = value === undefined && kind !== 'flag'
    const given = takesNext ? (args[++index] ?? UNKNOWN_SCRIPT) : { text: value ?? '', opaque: word.opaque }
    if (kind === 'script') scripts.push(given)
    else if (word.opaque || kind === 'unknown') scripts.push(UNKNOWN_SCRIPT)
    else if (kind === 'file' && (given.opaque || /^(-$|\/(dev|proc)\/(?!null$))/.test(given.text)))
      scripts.push(UNKNOWN_SCRIPT)
    isScriptGiven ||= kind === 'script' || kind === 'file'
  }
  return scripts
}
