import { TroupeError, toTroupeError } from '../../errors.ts'
import { removedNameHint } from '../../schema/removed-names.ts'
import { EXIT, exitCodeFromError } from './exit-code.ts'
import { toInertJson } from './inert-output.ts'
import { errorLines } from './render/error-lines.ts'
import type { Terminal } from './terminal.ts'

const ZERO_USAGE = { calls: 0, input: 0, output: 0, cache_read: 0, cache_write: 0, usd: 0 }

/** Prints an error as text, or as JSON with `--json`; returns the exit code. */
export function reportError(
  thrown: unknown,
  output: { terminal: Terminal; json: boolean; command: string | undefined },
): number {
  const error = toTroupeError(thrown)
  const { terminal, json, command } = output
  const record = error.toJSON()
  if (json && command === 'run') {
    const emptyResult = { stop_reason: 'failed', output: null, error: record, usage: ZERO_USAGE, duration_ms: 0 }
    terminal.print(toInertJson({ run_id: null, status: 'failed', ...emptyResult }))
  } else if (json) terminal.print(toInertJson({ error: record }))
  else for (const line of errorLines(record, terminal.err)) terminal.note(line)
  const cause = error.cause instanceof Error ? error.cause : error
  if (process.env.TROUPE_DEBUG === '1') terminal.note(cause.stack ?? '')
  else if (!json && error.code === 'internal') terminal.note('set TROUPE_DEBUG=1 to print the stack trace')
  return exitCodeFromError(error)
}

/** A commander error as a TroupeError; `undefined` for help and version. */
export function usageError(
  thrown: { code: string; exitCode: number; message: string },
  command: string | undefined,
): TroupeError | undefined {
  if (thrown.exitCode === EXIT.done || thrown.code === 'commander.help') return undefined
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n')
  const suggestions = /\(Did you mean (?:one of )?(.*)\?\)/.exec(rest.join(' '))?.[1]?.split(', ') ?? []
  const [nearest] = suggestions
  const [, flag = ''] = /^unknown option '([^']+)'/.exec(first) ?? []
  const removed = removedNameHint(`${command} ${flag}`)
  return new TroupeError('invalid_input', first, {
    hint:
      removed ??
      (nearest === undefined
        ? `for usage run: troupe ${!command || thrown.code === 'commander.unknownCommand' ? '' : `${command} `}--help`
        : `did you mean '${nearest}'?`),
    alternatives: suggestions,
  })
}
