import type { ShellWord } from './shell-command.ts'

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
