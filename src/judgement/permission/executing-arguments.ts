import { SHELLS } from './executing-programs.ts'
import type { ShellWord } from './shell-command.ts'

/*
 * Programs with a language of their own that can run commands (`sed 1e`, `tar --to-command`, `git -c alias.x=!…`). This reader does not look into that
 * language: with such arguments, a deny rule cannot tell what the line runs.
 */

/** Programs whose purpose is to run what they read. */
const RUNNERS = new Set(
  'ed red emacs emacsclient gdb lldb m4 dc expect at batch crontab tmux screen socat ncat systemd-run pwsh'.split(' '),
)

const EVALUATORS = /^(R|Rscript|julia|ghc|runghc|scala|elixir|iex|erl|groovy|octave|gnuplot|jshell)$/

/** Longer arguments are not searched: some of the patterns take quadratic time. */
const MAX_CHARACTERS = 4000

/** The arguments, joined by blanks and with one before the first, that make a program run text. Long options can be abbreviated. */
const RUNNING_ARGUMENTS: readonly (readonly [program: RegExp, args: RegExp])[] = [
  [
    /^g?make$/,
    / (-f ?(-( |$)|\/(dev|proc)\/)|--(make)?file[= ](-( |$)|\/(dev|proc)\/)|--ev|-E|SHELL|\w+=[^ ]*[$`'"\\\t])/,
  ],
  [/^(g|bsd)?tar$/, /^ [A-Za-z]*[IF]| -[A-Za-z]*[IF]| --(to|ch|us|rsh|inf|new)/],
  [/^(vi|vim|nvim|view|ex|gvim|vimdiff)$/, / (-[A-Za-z]*[cSsWe]|--cmd|--remote|\+(?!\d+( |$)))/],
  [
    /^git$/,
    / (--exec|-x|-O|--ext|--up|--rec|--op|foreach|run |filter-branch|difftool|mergetool|alias\.)|=[^ ]*[!$`'"\\\t]/,
  ],
  [EVALUATORS, / (-e|-eval|--ev|--exec|-$|-r )|^$/],
  [/^sqlite3$/, /\.(shell|system|sy|sh|once|excel|output|read|load)|load_extension|edit\(/i],
  [/^(psql|mysql|mariadb)$/, /\\[!ogw]|\bprogram\b|\bsystem\b/i],
  [/^(less|more|most|man)$/, / (\+|-P|--pager)/],
  [/^(rsync|scp|sftp)$/, / (-[A-Za-z]*e|--rsh|--rsync-path|-S|-o|-D)/],
  [/^(split|sort|rg|zip|tcpdump|install)$/, / (--fi|--comp|--pre|-TT|--unzip|-z|--strip-program)/],
  [/^(nc|netcat)$/, / -[A-Za-z]*[ec]/],
  [/^(npm|npx|pnpm|yarn|bunx)$/, /^( -\S+)* ((exec|x)( -\S+)* )?(-c|--call)/],
  [/^(gcc|g\+\+|cc|c\+\+|clang|clang\+\+)$/, / (-wrapper|-fplugin|-B|@)/],
]

/** Whether a program that is neither a shell, a wrapper nor an interpreter may run a text in its arguments. */
export function mayRunArguments(program: string, args: readonly ShellWord[]): boolean {
  if (RUNNERS.has(program)) return true
  if (program === 'sed' || program === 'gsed') return sedMayExecute(args)
  // `docker run image sh -c …`
  if (args.some(({ text }) => SHELLS.has(text.split('/').at(-1) ?? ''))) return true
  const running = RUNNING_ARGUMENTS.find(([name]) => name.test(program))?.[1]
  if (!running) return false
  // Blanks in a word become tabs: a space begins a word.
  const joined = args.map(({ text }) => ` ${text.replace(/\s/g, '\t')}`).join('')
  return joined.length > MAX_CHARACTERS || running.test(joined)
}

/** A script of simple commands and substitutions without the flag `e`, such as `1,20p`, `/x/d` and `s/a/b/g`. */
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:\\.|[^\\/\n])*/I?)`
const SUBSTITUTION = String.raw`s([/|#,@:!])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiI\d]*`
const HARMLESS_SED = new RegExp(
  String.raw`^(?:${ADDRESS}(?:,(?:${ADDRESS}|[+~]\d+))?)?!?(?:[pdqPDNnGhHgx=]|${SUBSTITUTION})$`,
)

function sedMayExecute(args: readonly ShellWord[]): boolean {
  const scripts = sedScripts(args)
  return scripts.some(({ text, opaque }) => {
    if (opaque) return true
    // A substitution may contain a semicolon: it is then read as one command.
    const parts = text.split(/[;\n]/).map((part) => part.trim())
    return !HARMLESS_SED.test(text.trim()) && !parts.every((part) => part === '' || HARMLESS_SED.test(part))
  })
}

/** The scripts of `-e` and `--expression`, or the first operand. A script file (`-f`) is not inspected. */
function sedScripts(args: readonly ShellWord[]): ShellWord[] {
  const given: ShellWord[] = []
  let operand: ShellWord | undefined
  for (let index = 0; index < args.length; index++) {
    const word = args[index]
    if (!word) break
    const [, long] = /^--e[a-z]*=(.*)$/s.exec(word.text) ?? []
    const [, short] = /^-[nErsuzi]*e(.*)$/s.exec(word.text) ?? []
    if (long !== undefined) given.push({ ...word, text: long })
    else if (short !== undefined && short !== '') given.push({ ...word, text: short })
    else if (short === '' || /^--e[a-z]*$/.test(word.text)) given.push(args[++index] ?? { text: '', opaque: true })
    else if (/^-[nErsuzi]*f/.test(word.text) || /^--f/.test(word.text)) return given
    else if (!word.text.startsWith('-')) operand ??= word
    else if (word.opaque) given.push(word)
  }
  return given.length > 0 || !operand ? given : [operand]
}
