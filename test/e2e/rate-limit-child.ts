import { createTroupe } from '../../src/index.ts'
import { agent, functionModel } from '../support/test-troupe.ts'

/* Sends model requests as fast as the shared rate limit allows, and prints a line for each. */
const [store = '', rateLimit = '{}'] = process.argv.slice(2)
const model = functionModel(() => {
  console.log('request')
  return { text: 'done' }
})
const rateLimits = { function: JSON.parse(rateLimit) }
const troupe = await createTroupe({ store, model, models: { rateLimits }, agents: [agent('lead')] })
const runs = Array.from({ length: 200 }, () => troupe.run('task', { agent: 'lead', instruction: 'go' }))
await Promise.all(runs)
