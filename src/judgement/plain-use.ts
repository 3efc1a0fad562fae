import type { ShellWord } from './shell-command.ts'

/*
 * Well known programs that run nothing of what their arguments say, so that a word there that is also the name of a
 * forbidden command means nothing.
 */

const INSTALLING = 'install i ci add rm remove uninstall update upgrade list ls view info show search'
const PLAIN: Readonly<Record<string, ReadonlySet<string>>> = {
  git: new Set(
    'add commit rm mv status diff log show checkout switch restore branch tag stash reset blame help'.split(' '),
  ),
  ...Object.fromEntries(
    'npm pnpm yarn pip pip3 apt apt-get brew cargo'.split(' ').map((name) => [name, new Set(INSTALLING.split(' '))]),
  ),
}
const RUNS_MORE = /^(-x|-O|--ext|--exec|--open|--upload|--receive|--config)/

/** The sub-command stands right behind the program, and no option runs anything. */
export function isPlainUse([program, sub, ...rest]: readonly ShellWord[]): boolean {
  if (!program || !sub || sub.opaque || !Object.hasOwn(PLAIN, program.text)) return false
  return PLAIN[program.text]?.has(sub.text) === true && !rest.some(({ text }) => RUNS_MORE.test(text))
}

/** Whether a program of awk may run others: it calls, pipes, reads from them, or cannot be seen. */
export function runsAwk(args: readonly ShellWord[]): boolean {
  const options = args.filter(({ text }) => text.startsWith('-'))
  if (args.length === 0 || options.some(({ text }) => !/^-[Fv]/.test(text))) return true
  return args.some(({ text, opaque }) => opaque || /system|getline|[|@]/.test(text))
}
