import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { createTroupe } from 'troupe'

// An agent delegates to two others in parallel and summarizes. Runs offline: the replies come from script.json.
const script = fileURLToPath(new URL('script.json', import.meta.url))
const troupe = await createTroupe({ store: 'memory', model: `scripted:${script}` })

const handle = await troupe.stream('task', { agent: 'default', instruction: 'How should we cache sessions?' })
const delegated: string[] = []
for await (const signal of handle) {
  if ('event' in signal && signal.event.type === 'tool:pre') delegated.push(signal.event.data.agent ?? '')
}
const result = await handle.result

assert.equal(result.status, 'completed')
assert.deepEqual(delegated.sort(), ['architect', 'researcher'])
assert.deepEqual([result.usage.calls, result.usage.input, result.usage.output], [4, 1253, 140])
console.log((result.output as { response: string }).response)
await troupe.close()
