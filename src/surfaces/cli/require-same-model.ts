import { TroupeError } from '../../errors.ts'
import type { Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'
import { modelName } from './open-troupe.ts'

/** A run goes on with the model that it began with; another one that is asked for must not be dropped without a word. */
export async function requireSameModel(cli: Cli, troupe: Troupe, run_id: string): Promise<void> {
  const asked = cli.options.model ? modelName(cli) : undefined
  if (asked === undefined) return
  const [first] = await troupe.store.events(run_id, { to: 1 })
  const begun = first?.type === 'run:start' ? first.data.model : undefined
  if (begun === undefined || begun === asked) return
  throw new TroupeError('invalid_input', `${run_id} asks ${begun}, and goes on with it`, {
    hint: `with another model it is another run: troupe fork ${run_id} --at SEQ --model ${asked} (troupe show ${run_id} --events numbers the events)`,
  })
}
