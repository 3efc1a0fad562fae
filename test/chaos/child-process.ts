import { spawn } from 'node:child_process'

export interface ChildExit {
  signal: string | null
  code: number | null
  /** Everything written to stdout and stderr. */
  output: string
}

/** Runs a TypeScript file in a new process and waits for its exit. */
export function runChild(file: string, ...args: string[]): Promise<ChildExit> {
  const { promise, resolve, reject } = Promise.withResolvers<ChildExit>()
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const collect = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  child.on('error', reject)
  child.on('close', (code, signal) => resolve({ code, signal, output }))
  return promise
}
