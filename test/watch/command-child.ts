import { join } from 'node:path'
import { z } from 'zod'
import type { Event } from '../../src/index.ts'
import { createTroupe, definePattern } from '../../src/index.ts'

/**
 * `command-child.ts FOLDER` executes a run that works until it is cancelled. Prints its id, then each steering command with
 * the time at which it was noticed, and its status at the end.
 */
const [folder = ''] = process.argv.slice(2)
const endless = definePattern({
  name: 'endless',
  version: 1,
  description: 'works until it is cancelled',
  category: 'action',
  input: z.unknown(),
  output: z.unknown(),
  execute: async (context) => {
    await context.step('wait', (signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)))
    return { success: true, output: null }
  },
})
const onEvent = (event: Event) => {
  if (event.type !== 'run:steer' || event.data.action.do !== 'say') return
  const at = performance.timeOrigin + performance.now()
  process.stdout.write(`${JSON.stringify({ text: event.data.action.text, at })}\n`)
}
const troupe = await createTroupe({ store: join(folder, 'troupe.db'), patterns: [endless], hooks: [{ onEvent }] })
const handle = await troupe.stream('endless', {})
for await (const item of handle) {
  if ('event' in item && item.event.type === 'run:attempt') process.stdout.write(`${handle.run_id}\n`)
}
const { status } = await handle.result
await troupe.close()
process.stdout.write(`${status}\n`)
