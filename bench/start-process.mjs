import { registerHooks } from 'node:module'

/*
 * `node start-process.mjs FILE STORE [count]` creates a troupe from the built package FILE, runs one task, and prints one line of JSON.
 * JavaScript: stripping the types of this file would be measured, too. With `count` it counts modules, which slows their loading down.
 */

const [file = '', store = 'memory', count] = process.argv.slice(2)
let modules = 0
if (count === 'count') {
  registerHooks({
    load(url, context, nextLoad) {
      modules += 1
      return nextLoad(url, context)
    },
  })
}

async function* respond() {
  yield { type: 'text', text: 'Here.' }
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
  yield { type: 'finish', stop: 'end', usage }
}

const node_ms = performance.now()
const { createTroupe } = await import(file)
const imported = performance.now()
const agent = { name: 'worker', description: '', instructions: 'Answer in one word.', tools: [] }
const troupe = await createTroupe({ store, model: { name: 'double', stream: respond }, agents: [agent] })
const created = performance.now()
const create_modules = modules
const { output } = await troupe.run('task', { agent: 'worker', instruction: 'Are you there?' })
const first_answer_ms = performance.now()
if (output?.response !== 'Here.') throw new Error('there was no answer')
await troupe.close()
const report = { node_ms, create_ms: created - imported, first_answer_ms, create_modules, modules }
process.stdout.write(`${JSON.stringify(report)}\n`)
