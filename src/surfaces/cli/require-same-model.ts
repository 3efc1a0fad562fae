import { TroupeError } from '../../errors.ts'
import type { Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { modelName } from './open-troupe.ts'

/** Rejects `--model` when the run started with another model: a resumed run keeps its model. */
export async function requireSameModel(cli: Cli, troupe: Troupe, run_id: string): Promise<void> {
  const requested = cli.options.model ? modelName(cli) : undefined
  if (requested === undefined) return
  const {
    items: [first],
  } = await troupe.events(run_id, { limit: 1 })
  const original = first?.type === 'run:start' ? first.data.model : undefined
  if (original === undefined || original === requested) return
  throw new TroupeError('invalid_input', `--model ${requested}: ${run_id} was started with ${original} and keeps it`, {
    hint: `omit --model, or fork the run: troupe fork ${run_id} --at SEQ --model ${requested} (troupe show ${run_id} --events lists SEQ)`,
  })
}
