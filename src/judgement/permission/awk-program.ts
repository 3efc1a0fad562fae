import type { ShellWord } from './shell-command.ts'

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
/** What a regular expression can follow; after anything else, a slash may be a division. */
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
