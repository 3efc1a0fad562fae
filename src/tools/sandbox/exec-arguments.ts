import { invalidCallError } from '../tool-errors.ts'
import type { SpawnRequest } from './sandbox.ts'

/*
 * Passes the environment and arguments of a sandboxed program through a file descriptor; they take effect only inside.
 * Prevents a sandbox escape: in the environment of the processes that set up the sandbox, and are not confined yet,
 * variables such as `PATH` and `LD_PRELOAD` would run code on the host.
 */

/** The descriptor that carries the arguments. */
export const ARGUMENTS_FD = 4
/** The limit of Linux for a single argument (MAX_ARG_STRLEN, without the NUL). */
export const MAX_ARGUMENT_BYTES = 131_071

/**
 * Bash code that runs first inside: closes all inherited descriptors. Prevents a sandbox escape through an open folder of
 * the host.
 */
export const CLOSE_INHERITED_FDS = [
  `for troupe_fd in /proc/$$/fd/*; do troupe_fd=\${troupe_fd##*/}`,
  `if [ "$troupe_fd" -gt 2 ] && [ "$troupe_fd" -ne ${ARGUMENTS_FD} ]; then eval "exec $troupe_fd>&-"; fi; done`,
  'unset troupe_fd',
].join('; ')

/** Bash code that runs inside: reads the arguments, closes the descriptor and executes the program. */
export const EXEC_FROM_FD = [
  `mapfile -d '' -t -u ${ARGUMENTS_FD} troupe_args`,
  `exec ${ARGUMENTS_FD}<&-`,
  // Without arguments `env` would print the environment and succeed.
  `[ "\${#troupe_args[@]}" -gt 0 ] || exit 126`,
  `exec env -- "\${troupe_args[@]}"`,
]

/** Encodes the environment and the arguments, NUL-separated; throws when the system could not execute them. */
export function encodeExecArguments(command: SpawnRequest['command'], env: Readonly<Record<string, string>>): Buffer {
  const program = typeof command === 'string' ? ['/bin/bash', '-c', command] : command
  const args = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...program]
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('='))
      throw invalidCallError(
        `\`env\`: '${name}' is not a valid name for an environment variable`,
        'use a name without =',
      )
  }
  for (const arg of args) {
    if (arg.includes('\0'))
      throw invalidCallError('`command`, an argument or an environment variable contains a NUL character', 'remove it')
    const bytes = Buffer.byteLength(arg)
    if (bytes > MAX_ARGUMENT_BYTES) {
      const hint = 'write the long text to a file and pass its path'
      throw invalidCallError(
        `\`command\`, an argument or an environment variable has ${bytes} bytes; the maximum is ${MAX_ARGUMENT_BYTES}`,
        hint,
      )
    }
  }
  return Buffer.from(args.map((arg) => `${arg}\0`).join(''))
}
