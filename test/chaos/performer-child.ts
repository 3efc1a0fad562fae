import { createTroupe } from '../../src/index.ts'
import type { PerformerScript } from '../../src/testing/scripted-performer.ts'
import { jsonLinesPerformer } from '../support/json-lines-performer.ts'
import { agent } from '../support/test-troupe.ts'

/* The host process of a performer: starts a run and prints its events and the process id of the agent. */
const [store = '', script = '{}'] = process.argv.slice(2)
const performer = jsonLinesPerformer(JSON.parse(script) as PerformerScript)
const agents = [agent('coder', { performer: 'external' })]
const troupe = await createTroupe({ store, agents, performers: { external: performer } })
const handle = await troupe.stream('task', { agent: 'coder', instruction: 'go' })
console.log(JSON.stringify({ run_id: handle.run_id }))
for await (const item of handle) {
  if ('event' in item) console.log(JSON.stringify({ type: item.event.type, pid: performer.pids[0] }))
}
