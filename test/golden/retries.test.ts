import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { verifyJournal } from '../../src/entries/inspect.ts'
import type { Event } from '../../src/index.ts'
import { memoryStore } from '../support/memory-store.ts'
import { createStore } from './golden-store.ts'
import { createOutage, recordRetries, retryScenarios } from './retry-setup.ts'

/* Journals of runs that resume retries, as older versions have recorded them: see README.md in this folder. */

const folder = new URL('retries/', import.meta.url)
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

if (process.env.UPDATE_GOLDEN === '1') {
  mkdirSync(folder, { recursive: true })
  for (const [name, scenario] of Object.entries(retryScenarios)) {
    if (existsSync(new URL(`${version}-${name}-failed.json`, folder))) continue
    for (const [kind, events] of Object.entries(await recordRetries(scenario, memoryStore)))
      writeFileSync(new URL(`${version}-${name}-${kind}.json`, folder), `${JSON.stringify(events, null, 1)}\n`)
  }
}

const journals = readdirSync(folder).map((file) => {
  const [, name = '', kind = ''] = /^[\d.]+-(.+)-(\w+)\.json$/.exec(file) ?? []
  return [file, { name, kind }] as const
})

/** Whom resume of each journal asks, in this order: nobody who has answered before. */
const ASKED: Record<string, Record<string, readonly string[]>> = {
  collaborate: { failed: ['ben', 'eva', 'coordinator'], again: ['eva', 'coordinator'] },
  'collaborate-synthesis': { failed: ['ben', 'coordinator'], again: ['coordinator'] },
  'collaborate-tool': { failed: ['ben', 'eva', 'coordinator', 'lead'], again: ['eva', 'coordinator', 'lead'] },
  consult: { failed: ['backend'], again: ['backend'] },
  team: { failed: ['ben', 'eva', 'writer'], again: ['eva', 'writer'] },
}

describe('journals of retries', () => {
  test.each(journals)(
    'X20 the journal %s goes on to the result of a run without an outage',
    async (file, { name, kind }) => {
      const scenario = retryScenarios[name]
      if (!scenario) throw new Error(`no scenario '${name}'`)
      const events = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Event[]
      const whole = await createOutage(scenario, memoryStore())
      const expected = await whole.troupe.run(scenario.pattern, scenario.input as never)
      await whole.troupe.close()

      const { troupe, served } = await createOutage(scenario, await createStore(events))
      const run_id = events[0]?.run_id ?? ''
      const result = await (await troupe.resume(run_id)).result
      expect(result).toMatchObject({ status: 'completed', error: null })
      expect(scenario.essence(result.output as never)).toEqual(scenario.essence(expected.output as never))
      expect(served).toEqual(ASKED[name]?.[kind] ?? [])
      expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
      expect((await troupe.replay(run_id)).differences).toEqual([])
      await troupe.close()
    },
  )
})
