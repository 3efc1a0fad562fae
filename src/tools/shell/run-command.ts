import { StringDecoder } from 'node:string_decoder'
import type { CommandOutcome, CommandRequest, CommandRunner } from '../sandbox/command-runner.ts'
import type { ProcessExit, Sandbox } from '../sandbox/sandbox.ts'

/*
 * Commands of Troupe itself. Their standard input is empty and they have no terminal, so that one that asks a question ends; a command that
 * hangs is killed with all its processes, and one that floods keeps the end of its output only (resource exhaustion).
 */

export interface CommandRunnerOptions {
  /** The sandbox of a folder. Throws for a folder that agents may not work in. */
  sandboxIn(workspace: string): Sandbox
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Test runners that find a terminal or this variable wait for keys, or watch files for ever. */
const ENVIRONMENT = { CI: 'true', TERM: 'dumb', NO_COLOR: '1' }

export function createCommandRunner({ sandboxIn, sleep }: CommandRunnerOptions): CommandRunner {
  return {
    async run(request, signal) {
      signal?.throwIfAborted()
      const startedAt = performance.now()
      const running = await sandboxIn(request.workspace).spawn({
        command: request.command,
        env: ENVIRONMENT,
        stdin: 'ignore',
      })
      const output = new OutputTail(request.max_output_chars)
      output.capture(running.child.stdout)
      output.capture(running.child.stderr)
      signal?.addEventListener('abort', running.kill, { once: true })
      const done = new AbortController()
      let isTimeout = false
      const timer = sleep(request.timeout_ms, done.signal).then(
        () => {
          isTimeout = true
          running.kill()
        },
        () => {},
      )
      try {
        const exit = await running.ended
        signal?.throwIfAborted()
        return toOutcome(exit, { isTimeout, output, duration_ms: Math.round(performance.now() - startedAt), request })
      } finally {
        signal?.removeEventListener('abort', running.kill)
        done.abort('done')
        await timer
      }
    },
  }
}

interface Ending {
  isTimeout: boolean
  output: OutputTail
  duration_ms: number
  request: CommandRequest
}

function toOutcome(exit: ProcessExit, { isTimeout, output, duration_ms }: Ending): CommandOutcome {
  const killed = exit.limit !== undefined || exit.code === null
  const reason = exit.limit
    ? `it exceeded the limit of ${exit.limit}`
    : exit.signal
      ? `it was killed by ${exit.signal}`
      : undefined
  return {
    status: isTimeout ? 'timeout' : killed ? 'killed' : 'exited',
    exit_code: exit.code,
    notes: [...(reason === undefined || isTimeout ? [] : [reason]), ...(exit.repairs ?? [])],
    output: output.text,
    omitted_chars: output.omitted,
    duration_ms,
  }
}

/** The end of an output, bounded in memory. */
class OutputTail {
  text = ''
  omitted = 0
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  capture(stream: NodeJS.ReadableStream | null): void {
    const decoder = new StringDecoder('utf8')
    stream?.on('data', (chunk: Buffer) => this.#append(decoder.write(chunk)))
  }

  #append(text: string): void {
    const joined = this.text + text
    const excess = joined.length - this.#max
    // Cut in large pieces: a flood of short lines must not copy the whole text for each of them.
    if (excess > this.#max || (excess > 0 && text.length > this.#max)) {
      this.omitted += excess
      this.text = joined.slice(excess)
    } else this.text = joined
  }
}
