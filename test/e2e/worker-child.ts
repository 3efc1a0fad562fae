import { createTroupe } from '../../src/index.ts'
import { agent, functionModel } from '../support/test-troupe.ts'

/* A worker process: claims runs of a store and executes them, until it is killed. */
const [store = ''] = process.argv.slice(2)
const model = functionModel(async ({ messages, session }) => {
  const text = JSON.stringify(messages)
  if (text.includes('hang'))
    await new Promise((resolve) => setTimeout(resolve, text.includes('once') && process.env.SECOND ? 0 : 60_000))
  if (text.includes('ask') && session.turn === 1)
    return { calls: [{ name: 'ask_user', input: { question: 'Which?' } }] }
  return { text: `done by ${process.pid}` }
})
const troupe = await createTroupe({ store, model, agents: [agent('lead')] })
console.log('ready')
for (;;) {
  const handle = await troupe.claim()
  if (handle) void handle.result.catch((error) => console.error(error))
  else await new Promise((resolve) => setTimeout(resolve, 20))
}
