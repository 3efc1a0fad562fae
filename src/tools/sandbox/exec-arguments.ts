import { invalidCallError } from '../tool-errors.ts'
import type { SpawnRequest } from './sandbox.ts'

/*
 * What a program in the sandbox is started with: its variables and its words. They go in through a descriptor and are put
 * to use inside, when the sandbox stands. In the environment of the processes that make the sandbox they would steer those
 * (`PATH`, `LD_PRELOAD`), and those are not confined.
 */

/** The descriptor that the words come through. */
export const ARGUMENTS_FD = 4
/** More than this the system does not take as one word. */
export const MAX_ARGUMENT_BYTES = 131_071

/**
 * For bash, inside, before anything else is started there: closes what this process was itself started with. An open folder
 * of the host among it would be a way out.
 */
export const CLOSE_INHERITED_FDS = [
  `for troupe_fd in /proc/$$/fd/*; do troupe_fd=\${troupe_fd##*/}`,
  `if [ "$troupe_fd" -gt 2 ] && [ "$troupe_fd" -ne ${ARGUMENTS_FD} ]; then eval "exec $troupe_fd>&-"; fi; done`,
  'unset troupe_fd',
].join('; ')

/** For bash, inside: takes the words, closes the way they came, and becomes the program. */
export const EXEC_FROM_FD = [
  `mapfile -d '' -t -u ${ARGUMENTS_FD} troupe_words`,
  `exec ${ARGUMENTS_FD}<&-`,
  // Without words `env` would say what it knows and be content.
  `[ "\${#troupe_words[@]}" -gt 0 ] || exit 126`,
  `exec env -- "\${troupe_words[@]}"`,
]

/** The words as bytes, or the reason why there cannot be such a program. */
export function encodeExecArguments(
  command: SpawnRequest['command'],
  variables: Readonly<Record<string, string>>,
): Buffer {
  const program = typeof command === 'string' ? ['/bin/bash', '-c', command] : command
  const words = [...Object.entries(variables).map(([name, value]) => `${name}=${value}`), ...program]
  for (const name of Object.keys(variables)) {
    if (name === '' || name.includes('=')) throw invalidCallError(`'${name}' cannot be the name of a variable`)
  }
  for (const word of words) {
    if (word.includes('\0'))
      throw invalidCallError('a command, its arguments and its variables may not contain a NUL character')
    const bytes = Buffer.byteLength(word)
    if (bytes > MAX_ARGUMENT_BYTES) {
      const hint = 'put what is long into a file, and name the file'
      throw invalidCallError(
        `a command, an argument or a variable of ${bytes} bytes is too long: ${MAX_ARGUMENT_BYTES} at most`,
        hint,
      )
    }
  }
  return Buffer.from(words.map((word) => `${word}\0`).join(''))
}
