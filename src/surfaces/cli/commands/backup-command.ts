import { statSync } from 'node:fs'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { formatBytes } from '../deletion-report.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'

/** Copies the store to a new file. */
export function backupCommand(cli: Cli, file: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { location } = troupe.storeStatus()
    await troupe.backUpStore(file)
    const bytes = statSync(file).size
    if (cli.options.json) printJson(cli, { store: location, file, bytes })
    else
      cli.terminal.note(
        `${location} copied to ${file} (${formatBytes(bytes)}); try it with: troupe runs --store ${file}`,
      )
    return EXIT.done
  })
}
