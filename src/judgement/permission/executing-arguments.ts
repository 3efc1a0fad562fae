import { MAX_WORDS } from './command-deny-pattern.ts'
import { INTERPRETER, runsCode, SHELLS } from './executing-programs.ts'
import { sedMayExecute } from './sed-script.ts'
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
