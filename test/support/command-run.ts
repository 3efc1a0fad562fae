import { main } from '../../src/surfaces/cli/program.ts'
import { plainStyle } from './plain-style.ts'

/* The command line in this process, with a terminal that keeps what is printed. */

export interface CommandResult {
  code: number
  /** Lines. */
  out: string[]
  err: string[]
}

export async function runCommand(argv: readonly string[], width = 200): Promise<CommandResult> {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    print: (text: string) => void out.push(...text.split('\n')),
    note: (text: string) => void err.push(...text.split('\n')),
    noteSync: () => {},
    draw: () => {},
    out: plainStyle(width),
    err: plainStyle(width),
    ...{ outputIsTTY: true, live: false, interactive: false },
  }
  return { code: await main(argv, terminal), out, err }
}
