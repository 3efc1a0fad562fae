import { registerHooks } from 'node:module'
import type { Model, ModelChunk } from '../src/kernel/model.ts'

/* `node start-process.ts FILE STORE` creates a troupe from the built package FILE, runs one task, and prints one line of JSON. */

export interface StartReport {
  /** Before the package was imported: the start of Node itself. */
  node_ms: number
  create_ms: number
  /** From the start of the process. */
  first_answer_ms: number
  modules: number
}

const [file = '', store = 'memory'] = process.argv.slice(2)
let modules = 0
registerHooks({
  load(url, context, nextLoad) {
    modules += 1
    return nextLoad(url, context)
  },
})

async function* respond(): AsyncGenerator<ModelChunk> {
  yield { type: 'text', text: 'Here.' }
  const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
  yield { type: 'finish', stop: 'end', usage }
}

const node_ms = performance.now()
const { createTroupe } = (await import(file)) as typeof import('../src/index.ts')
const imported = performance.now()
const model: Model = { name: 'double', stream: respond }
const agent = { name: 'worker', description: '', instructions: 'Answer in one word.', tools: [] }
const troupe = await createTroupe({ store, model, agents: [agent] })
const created = performance.now()
const { output } = await troupe.run('task', { agent: 'worker', instruction: 'Are you there?' })
const first_answer_ms = performance.now()
if ((output as { response?: string } | null)?.response !== 'Here.') throw new Error('there was no answer')
await troupe.close()
const report: StartReport = { node_ms, create_ms: created - imported, first_answer_ms, modules }
process.stdout.write(`${JSON.stringify(report)}\n`)
