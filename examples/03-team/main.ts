import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { createTroupe, isEvent, readTeamFile } from 'troupe'

// A team from a file: a draft is revised until it is approved. Runs offline: the replies come from script.json.
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const { team, problems } = await readTeamFile(here('../teams/draft-and-review.yaml'))
assert.deepEqual(problems, [])
assert.ok(team)

const troupe = await createTroupe({ store: 'memory', model: `scripted:${here('script.json')}` })
const handle = await troupe.stream('team', { team, message: 'A sentence on cats and sleep.' })
const route: string[] = []
for await (const signal of handle) {
  if (!('event' in signal)) continue
  const { event } = signal
  if (isEvent(event, 'team:turn')) route.push(event.data.agent)
  if (isEvent(event, 'team:handoff')) console.log(event.data.from, '→', event.data.to, event.data.handoff_reason)
}
assert.deepEqual(route, ['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])

// No rule applies after the publisher: the team returns to the user and waits. An empty answer ends it.
const waiting = await handle.result
assert.equal(waiting.status, 'waiting')
const [question] = waiting.gates
const ended = await (await troupe.answer(question?.gate_id ?? '', '')).result
assert.equal(ended.status, 'completed')
// No router request was needed: five turns, five model calls.
assert.equal(ended.usage.calls, 5)
console.log((ended.output as { response: string }).response)
await troupe.close()
