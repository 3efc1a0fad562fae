import type { Event } from '../src/index.ts'
import { newTimeline, reduceTimeline, takeChanges, timelineSnapshot } from '../src/views/timeline/reduce-timeline.ts'

/*
 * Time and size of the timeline of a large run: `npm run bench:timeline -- [calls] [lanes]`, default 20,000 calls in 200 lanes.
 */

const [calls = 20_000, lanes = 200] = process.argv.slice(2).map(Number)
const CALLS_PER_TURN = 4

/** A lead that delegates to as many agents as there are lanes; each has turns of four calls. */
function largeJournal(): Event[] {
  const events: Event[] = []
  const add = (type: string, data: object, session_id?: string) => {
    const seq = events.length + 1
    events.push({ run_id: 'r_1', seq, at: 1_794_783_369_725 + seq * 37, type, session_id, data } as unknown as Event)
  }
  add('run:start', { pattern: 'task', input: { instruction: 'Migrate the whole repository.' } })
  add('run:attempt', { epoch: 1, owner: 'me' })
  const open = (key: string, name: string, parent: string | null, id: string) =>
    add('session:open', { key, agent: { name }, parent_session_id: parent, depth: parent ? 1 : 0, segment: 1 }, id)
  open('session', 'lead', null, 's_lead')
  const keys = Array.from({ length: lanes - 1 }, (_, lane) => ({ key: `session/turn/1/tool/${lane}`, id: `s_${lane}` }))
  for (const [lane, { key, id }] of keys.entries()) {
    const input = { agent: `worker-${lane}`, instruction: 'Migrate one folder.' }
    add(
      'tool:pre',
      { key, tool: 'task', category: 'task_management', kind: 'pattern', parallel_group_id: 'pg', input },
      's_lead',
    )
    open(`${key}/session`, `worker-${lane}`, 's_lead', id)
  }
  const turns = Math.ceil((calls - keys.length) / keys.length / CALLS_PER_TURN)
  for (let turn = 1; turn <= turns; turn++)
    for (const { key, id } of keys) addTurn(add, `${key}/session/turn/${turn}`, id)
  return events
}

const USAGE = { input: 12_000, output: 400, cache_read: 9000, cache_write: 0, reasoning: 0 }

function addTurn(add: (type: string, data: object, session_id: string) => void, key: string, id: string): void {
  add('model:begin', { key: `${key}/model`, attempt: 1, model: 'provider/model-name', reserved: { tokens: 9 } }, id)
  const content = [
    { type: 'text', text: 'I look at the callers of this function, then change them one by one.' },
    ...Array.from({ length: CALLS_PER_TURN }, () => ({ type: 'tool-call', name: 'Edit' })),
  ]
  add('model:end', { key: `${key}/model`, attempt: 1, usage: USAGE, message: { content } }, id)
  for (const type of ['tool:pre', 'tool:post']) {
    for (let call = 0; call < CALLS_PER_TURN; call++) {
      const place = { key: `${key}/tool/${call}`, tool: 'Edit', parallel_group_id: 'pg' }
      const input = { file_path: `src/folder/file-${call}.ts`, old_string: 'a', new_string: 'b' }
      add(type, { ...place, category: 'action', kind: 'act', input }, id)
    }
  }
}

const events = largeJournal()
const times: number[] = []
let state = newTimeline()
for (let round = 0; round < 7; round++) {
  state = newTimeline()
  const start = process.cpuUsage()
  for (const event of events) reduceTimeline(state, event)
  const { user, system } = process.cpuUsage(start)
  times.push((user + system) / 1000)
}
takeChanges(state)
const snapshot = timelineSnapshot(state)
const json = JSON.stringify(snapshot)
const rows = Object.entries(snapshot).map(([table, list]) => `${list.length} ${table}`)
const median = times.toSorted((a, b) => a - b)[3] ?? 0
console.log(`${events.length} events, ${rows.join(', ')}`)
console.log(
  `fold ${median.toFixed(0)} ms of processor time (median of 7), ${((median / events.length) * 1000).toFixed(1)} µs per event`,
)
console.log(`snapshot ${(json.length / 1e6).toFixed(1)} MB of JSON`)
const { gzipSync } = await import('node:zlib')
console.log(`snapshot ${(gzipSync(json).length / 1e6).toFixed(2)} MB compressed`)

const UPDATES = 100
const EVENTS_PER_UPDATE = 50
const live = newTimeline()
const head = Math.max(0, events.length - UPDATES * EVENTS_PER_UPDATE)
for (const event of events.slice(0, head)) reduceTimeline(live, event)
takeChanges(live)
const updates = { ms: [] as number[], bytes: 0 }
for (let from = head; from < events.length; from += EVENTS_PER_UPDATE) {
  for (const event of events.slice(from, from + EVENTS_PER_UPDATE)) reduceTimeline(live, event)
  const start = performance.now()
  const changes = takeChanges(live)
  updates.ms.push(performance.now() - start)
  updates.bytes += JSON.stringify(changes).length
}
const middle = updates.ms.toSorted((a, b) => a - b)[Math.floor(updates.ms.length / 2)] ?? 0
console.log(
  `rows since the last of 20 updates a second, at ${EVENTS_PER_UPDATE} events each: ${(middle * 1000).toFixed(0)} µs (median), ${(updates.bytes / updates.ms.length / 1000).toFixed(1)} kB of JSON`,
)
