import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { verifyJournal } from '../../src/entries/inspect.ts'
import type { Event } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { externalSystem, goldenInput, goldenOptions } from './golden-setup.ts'
import { createStore } from './golden-store.ts'

/* Backward compatibility of journals: see README.md in this folder. */

const folder = new URL('journals/', import.meta.url)
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const current = new URL(`${version}-task.json`, folder)

if (process.env.UPDATE_GOLDEN === '1' && !existsSync(current)) {
  writeFileSync(current, `${JSON.stringify(await recordGoldenRun(), null, 1)}\n`)
}

async function recordGoldenRun(): Promise<Event[]> {
  const { tools } = externalSystem()
  await using troupe = await createTroupe({ store: 'memory', ...goldenOptions(tools) })
  const parked = await troupe.run('task', goldenInput)
  const ended = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes')).result
  return troupe.events(ended.run_id).all()
}

const journals = readdirSync(folder).map((name) => [name] as const)

test('there is a golden journal of the current version', () => {
  expect(existsSync(current)).toBe(true)
})

test.each(journals)('X20 the journal %s resumes from every event to the same result and acts once', async (name) => {
  const events = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Event[]
  const end = events.at(-1)
  for (let length = 1; length <= events.length; length++) {
    const { effects, tools } = externalSystem()
    const prefix = events.slice(0, length)
    for (const event of prefix) {
      if (event.type === 'tool:post' && event.data.tool === 'write') effects.set('before', 'tree')
    }
    await using troupe = await createTroupe({ store: await createStore(prefix), ...goldenOptions(tools) })
    const run_id = end?.run_id ?? ''
    let result = await (await troupe.resume(run_id)).result
    const [gate] = result.gates
    if (gate) result = await (await troupe.answer(gate.gate_id, 'yes')).result
    expect([length, result.status, result.output]).toEqual([length, 'completed', end && runOutput(end)])
    expect([length, verifyJournal(await troupe.events(run_id).all())]).toEqual([length, []])
    expect([length, effects.size]).toEqual([length, 1])
  }
})

function runOutput(event: Event): unknown {
  return event.type === 'run:end' ? event.data.output : undefined
}
