import { EXIT } from './exit-code.ts'
import { withProgramName } from './render/styled-line.ts'
import { wrapText } from './render/text-width.ts'
import type { Terminal } from './terminal.ts'

/*
 * Ctrl-C. The first one lets what is in flight finish and leaves the run where it can be resumed; the second one ends
 * the process at once, which loses at most what was in flight.
 */

/** A launcher such as npm passes Ctrl-C on although the terminal had sent it to both: one press, two signals. */
const SAME_PRESS_MS = 100

export interface Interrupt {
  /** The exit code if we were asked to stop. */
  readonly code: number | undefined
  stop(): void
}

export function onInterrupt(
  run_id: string,
  act: { drain(): Promise<void>; note(text: string): void; clear(): void; terminal: Terminal },
): Interrupt {
  let code: number | undefined
  let first = 0
  const asked = (signal: 'SIGINT' | 'SIGTERM') => {
    const now = performance.now()
    if (code === undefined) {
      code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
      first = now
      const words = 'stopping: what is in flight may finish; Ctrl-C again stops at once'
      for (const text of wrapText(words, act.terminal.err.width, 2)) act.note(text)
      act.drain().catch(() => {})
      return
    }
    if (now - first < SAME_PRESS_MS) return
    act.clear()
    act.terminal.noteSync(withProgramName(act.terminal.err, `stopped; go on with: troupe resume ${run_id}`))
    process.exit(code)
  }
  const onInt = () => asked('SIGINT')
  const onTerm = () => asked('SIGTERM')
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
