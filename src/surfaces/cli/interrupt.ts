import { wrapText } from '../../views/text-width.ts'
import { EXIT } from './exit-code.ts'
import { withProgramName } from './render/styled-line.ts'
import type { Terminal } from './terminal.ts'

/*
 * Graceful shutdown. The first Ctrl-C drains: requests in flight finish and the run stays resumable. The second exits
 * at once and loses at most the requests in flight.
 */

/** npm forwards a SIGINT that the terminal has already sent to the process group: one key press, two signals. */
const DUPLICATE_SIGNAL_MS = 100

export interface Interrupt {
  /** Exit code after a signal. */
  readonly code: number | undefined
  stop(): void
}

/** `lastWords` are printed when a second signal stops the process at once. */
export function onInterrupt(
  lastWords: string,
  handlers: {
    drain(): Promise<void>
    note(text: string): void
    clear(): void
    terminal: Terminal
    /** Names the requests that the first signal waits for. */
    waits?: () => string
  },
): Interrupt {
  let code: number | undefined
  let first = 0
  const handleSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    const now = performance.now()
    if (code === undefined) {
      code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
      first = now
      const waits = handlers.waits?.() ?? 'waiting for requests in flight'
      const message = `stopping: ${waits}; press Ctrl-C again to stop at once`
      for (const text of wrapText(message, handlers.terminal.err.width, 2)) handlers.note(text)
      handlers.drain().catch(() => {})
      return
    }
    if (now - first < DUPLICATE_SIGNAL_MS) return
    handlers.clear()
    handlers.terminal.noteSync(withProgramName(handlers.terminal.err, lastWords))
    process.exit(code)
  }
  const onInt = () => handleSignal('SIGINT')
  const onTerm = () => handleSignal('SIGTERM')
  process.on('SIGINT', onInt)
  process.on('SIGTERM', onTerm)
  return {
    get code() {
      return code
    },
    stop() {
      process.off('SIGINT', onInt)
      process.off('SIGTERM', onTerm)
    },
  }
}
