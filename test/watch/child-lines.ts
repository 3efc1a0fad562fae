import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface LineProcess {
  child: ChildProcess
  /** The next line on stdout; rejects if the process ends without one. */
  nextLine(): Promise<string>
}

/** Starts a TypeScript file in a new process, to be read line by line. */
export function startLineProcess(file: string, ...args: string[]): LineProcess {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async nextLine() {
      const { value, done } = await lines.next()
      if (done) throw new Error(`${file} ended without a line`)
      return value
    },
  }
}
