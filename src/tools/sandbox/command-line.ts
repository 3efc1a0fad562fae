import { readFileSync } from 'node:fs'
import { TroupeError } from '../../errors.ts'

/*
 * Parses the shell command line that sandbox-runtime builds into an argument list. The list can be modified argument by
 * argument, and is executed without a shell on the host (no command injection).
 */

/** One word as the runtime quotes it: bare, or in single quotes with `'"'"'` for a quote. */
const WORD = /(?:[A-Za-z0-9_./:=@+,-]+|'[^']*'|"'")+/y
const PART = /'([^']*)'|"(')"|([^'"]+)/g

/** Throws on any syntax that it does not know. */
export function parseCommandLine(script: string): string[] {
  const argv: string[] = []
  for (let index = 0; index < script.length; ) {
    WORD.lastIndex = index
    const word = WORD.exec(script)?.[0]
    if (word === undefined) throw unknownCommandLineError()
    argv.push(unquote(word))
    index += word.length
    if (index < script.length && script[index++] !== ' ') throw unknownCommandLineError()
  }
  return expandArgsFile(argv)
}

function unquote(word: string): string {
  return [...word.matchAll(PART)].map(([, quoted, quote, bare]) => quoted ?? quote ?? bare).join('')
}

/** For a long command line, the runtime puts the arguments into a file that it keeps open in this process (`--args`). */
function expandArgsFile(argv: readonly string[]): string[] {
  const [shell, , , name, file = ''] = argv
  if (shell !== '/bin/sh' || name !== 'srt-args') return [...argv]
  const rest = argv.slice(5)
  const option = rest.indexOf('--args')
  const end = rest.indexOf('--')
  if (option === -1 || option > end || !file.startsWith(`/proc/${process.pid}/fd/`)) throw unknownCommandLineError()
  const args = readFileSync(file, 'utf8').split('\0').slice(0, -1)
  return [...rest.slice(0, option), ...args, ...rest.slice(option + 2)]
}

export function unknownCommandLineError(): TroupeError {
  return new TroupeError('internal', '@anthropic-ai/sandbox-runtime built an unknown command line', {
    hint: 'install the version of @anthropic-ai/sandbox-runtime that package.json requires',
  })
}
