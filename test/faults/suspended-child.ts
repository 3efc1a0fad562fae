import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { realWorld } from '../../src/engine/real-world.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/models/scripted.ts'

/*
 * Executes or resumes a run with one action, and waits before it at the place that is named until there is a file `go`. `suspended-owner.test.ts`
 * stops it there.
 */

const [folder = '', place = '', run_id] = process.argv.slice(2)
const isReleased = () => existsSync(join(folder, 'go'))
const real = realWorld()
/** The time it was stopped for, which nobody waits for. */
const STOPPED_MS = 40_000
const world = { ...real, now: () => real.now() + (place !== 'nowhere' && isReleased() ? STOPPED_MS : 0) }

async function pauseAt(here: string): Promise<undefined> {
  if (here !== place) return undefined
  console.log(`paused ${here}`)
  while (!isReleased()) await sleep(20)
  return undefined
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  kind: 'act',
  category: 'action',
  async execute(_input, { ensureLease, idempotency_key }) {
    await pauseAt('execute')
    await ensureLease?.()
    appendFileSync(join(folder, 'ledger'), `${idempotency_key}\n`)
    return { success: true, output: 'paid' }
  },
  recover: (_input, { idempotency_key }) => {
    const isPaid = existsSync(join(folder, 'ledger'))
    appendFileSync(join(folder, 'recovered'), `${idempotency_key}\n`)
    return isPaid ? { success: true, output: 'paid before' } : undefined
  },
})
const model = scriptedModel({
  rules: [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'pay', input: {} }] } },
    { reply: { text: 'It is paid.' } },
  ],
})
const hooks = [{ name: 'pause', beforeTool: () => pauseAt('hook') }]
const troupe = await createTroupe({ store: join(folder, 'store.db'), model, tools: [pay], hooks, engine: { world } })
try {
  const { status, error } = run_id
    ? await (await troupe.resume(run_id)).result
    : await (await troupe.stream('task', { agent: 'default', instruction: 'Pay the invoice.' })).result
  console.log(`ended ${status} ${error?.code ?? ''}`)
} catch (thrown) {
  console.log(`ended with ${String((thrown as { code?: string }).code ?? thrown)}`)
}
await troupe.close()
