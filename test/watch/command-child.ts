import { join } from 'node:path'
import { z } from 'zod'
import { definePattern } from '../../src/entries/patterns.ts'
import type { Event } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'

/**
 * `command-child.ts FOLDER` executes a run that asks a question and works until it is cancelled. Prints its id and the id of the question, then
 * each answer and steering command with the time at which it was noticed and what that cost, and its status at the end.
 */
const [folder = ''] = process.argv.slice(2)
const store = await openSqlite(join(folder, 'troupe.db'))
let reads = 0
const readCommandsSince = store.commandsSince.bind(store)
store.commandsSince = (id) => {
  reads += 1
  return readCommandsSince(id)
}
let readsOfOneRun = 0
const readCommands = store.commands.bind(store)
store.commands = (id, after) => {
  readsOfOneRun += 1
  return readCommands(id, after)
}
let notifications = 0
store.changes.subscribe(({ kind }) => {
  if (kind !== 'events') notifications += 1
})
const endless = definePattern({
  name: 'endless',
  version: 1,
  description: 'works until it is cancelled',
  category: 'action',
  input: z.unknown(),
  output: z.unknown(),
  execute: async (context) => {
    const work = (signal: AbortSignal) => new Promise((_, reject) => signal.addEventListener('abort', reject))
    await Promise.all([context.step('wait', work), context.ask('ask', { question: 'Which one?' })])
    return { success: true, output: null }
  },
})
function textOf(event: Event): unknown {
  if (event.type === 'gate:answer') return event.data.answer
  return event.type === 'run:steer' && event.data.action.do === 'say' ? event.data.action.text : undefined
}
const onEvent = (event: Event) => {
  if (event.type === 'gate:open') return void process.stdout.write(`${event.run_id} ${event.data.gate_id}\n`)
  const text = textOf(event)
  if (text === undefined) return
  const at = performance.timeOrigin + performance.now()
  process.stdout.write(`${JSON.stringify({ text, at, reads, readsOfOneRun, notifications })}\n`)
}
const troupe = await createTroupe({ store, patterns: [endless], hooks: [{ onEvent }] })
const handle = await troupe.stream('endless', {})
const { status } = await handle.result
await troupe.close()
process.stdout.write(`${status}\n`)
