import { readFileSync } from 'node:fs'
import { TroupeError } from '../../errors.ts'

/*
 * The command line that the sandbox's runtime builds, as words. It comes as one text for a shell; taken apart it can be
 * changed word by word, and no shell of the host has to read it again.
 */

/** One word as the runtime writes it: bare, or in single quotes with `'"'"'` for a quote. */
const WORD = /(?:[A-Za-z0-9_./:=@+,-]+|'[^']*'|"'")+/y
const PART = /'([^']*)'|"(')"|([^'"]+)/g

/** Fails rather than guesses. */
export function parseCommandLine(script: string): string[] {
  const words: string[] = []
  for (let at = 0; at < script.length; ) {
    WORD.lastIndex = at
    const word = WORD.exec(script)?.[0]
    if (word === undefined) throw unknownCommandLineError()
    words.push(word.replace(PART, (_all, quoted, quote, bare) => quoted ?? quote ?? bare))
    at += word.length
    if (at < script.length && script[at++] !== ' ') throw unknownCommandLineError()
  }
  return expandArgsFile(words)
}

/** Very many words are in a file that the runtime keeps open in this process, and that a shell would hand over. */
function expandArgsFile(words: readonly string[]): string[] {
  const [shell, , , name, file = ''] = words
  if (shell !== '/bin/sh' || name !== 'srt-args') return [...words]
  const rest = words.slice(5)
  const at = rest.indexOf('--args')
  const end = rest.indexOf('--')
  if (at === -1 || at > end || !file.startsWith(`/proc/${process.pid}/fd/`)) throw unknownCommandLineError()
  const kept = readFileSync(file, 'utf8').split('\0').slice(0, -1)
  return [...rest.slice(0, at), ...kept, ...rest.slice(at + 2)]
}

export function unknownCommandLineError(): TroupeError {
  return new TroupeError('internal', 'the sandbox runtime built a command line of an unknown shape', {
    hint: 'install the version of @anthropic-ai/sandbox-runtime that package.json names',
  })
}
