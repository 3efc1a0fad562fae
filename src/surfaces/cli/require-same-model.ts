import { TroupeError } from '../../errors.ts'
import type { Troupe } from '../../index.ts'
import { wrapText } from '../../views/text-width.ts'
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

/** Without a model of its own, a run uses that of its role: another key or another version of Troupe may have changed it. */
export async function noteChangedModel(cli: Cli, troupe: Troupe, run_id: string): Promise<void> {
  const { changed } = await troupe.checkNeeds(run_id)
  const roles = changed.flatMap(({ kind, name }) => (kind === 'models' ? name : []))
  if (roles.length === 0 || cli.options.json) return
  const {
    items: [first],
  } = await troupe.events(run_id, { limit: 1 })
  const recorded = first?.type === 'run:start' && first.data.model === undefined ? first.data.needs?.models : undefined
  const models = new Map(recorded?.map(({ name, hash }) => [name, hash]))
  const before = roles.flatMap((role) => (models.get(role) === undefined ? [] : `${role} was ${models.get(role)}`))
  if (before.length === 0) return
  const main = models.get('general')
  const keep = main === undefined ? '' : `; to keep ${main}: --model ${main}`
  const text = `the models have changed since ${run_id} started: ${before.join(', ')}${keep}`
  for (const line of wrapText(text, cli.terminal.err.width)) cli.terminal.note(line)
}
