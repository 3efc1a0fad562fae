import { TroupeError, toTroupeError } from '../../errors.ts'
import { EXIT, exitCodeFromError } from './exit-code.ts'
import { errorLines } from './render/error-lines.ts'
import type { Terminal } from './terminal.ts'

const ZERO_USAGE = { calls: 0, input: 0, output: 0, cache_read: 0, cache_write: 0, usd: 0 }

/** Says what went wrong, to a person or a program, and returns the exit code. */
export function reportError(
  thrown: unknown,
  to: { terminal: Terminal; json: boolean; command: string | undefined },
): number {
  const error = toTroupeError(thrown)
  const { terminal, json, command } = to
  const record = error.toJSON()
  if (json && command === 'run') {
    const nothing = { stop_reason: 'failed', output: null, error: record, usage: ZERO_USAGE, duration_ms: 0 }
    terminal.print(JSON.stringify({ run_id: null, status: 'failed', ...nothing }))
  } else if (json) terminal.print(JSON.stringify({ error: record }))
  else for (const line of errorLines(record, terminal.err)) terminal.note(line)
  const cause = error.cause instanceof Error ? error.cause : error
  if (process.env.TROUPE_DEBUG === '1') terminal.note(cause.stack ?? '')
  else if (!json && error.code === 'internal') terminal.note('TROUPE_DEBUG=1 shows where this comes from')
  return exitCodeFromError(error)
}

/** What commander says about a command line, as one of our errors; `undefined` for help and the like. */
export function usageError(
  thrown: { code: string; exitCode: number; message: string },
  command: string | undefined,
): TroupeError | undefined {
  if (thrown.exitCode === EXIT.done || thrown.code === 'commander.help') return undefined
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n')
  const near = /\(Did you mean (?:one of )?(.*)\?\)/.exec(rest.join(' '))?.[1]?.split(', ') ?? []
  const [nearest] = near
  return new TroupeError('invalid_input', first, {
    hint:
      nearest === undefined
        ? `troupe ${command === undefined || thrown.code === 'commander.unknownCommand' ? '' : `${command} `}--help says what there is`
        : `did you mean '${nearest}'?`,
    alternatives: near,
  })
}
