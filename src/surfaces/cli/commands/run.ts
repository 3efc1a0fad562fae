import { attend } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { limitsFrom } from '../limits.ts'
import { modelName, withTroupe } from '../open.ts'
import { readInput } from '../pattern-flags.ts'

/** Starts a run and stays with it. What stands on the command line wins over the input file. */
export async function run(
  cli: Cli<{ input?: string }>,
  pattern: string,
  given: Record<string, unknown>,
): Promise<number> {
  const file = cli.options.input === undefined ? {} : await readInput(cli.options.input)
  const limits = await limitsFrom(cli)
  const model = modelName(cli)
  return withTroupe(cli, 'new', async (troupe) => {
    const handle = await troupe.stream(pattern, { ...file, ...given }, { limits, ...(model ? { model } : undefined) })
    return attend(cli, troupe, handle)
  })
}
