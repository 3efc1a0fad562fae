import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { verifyJournal } from '../../src/entries/inspect.ts'
import type { Event } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { consultInput, consultOptions } from './consult-setup.ts'
import { createStore } from './golden-store.ts'

/* Journals of an agent that consults, as older versions have recorded them: see README.md in this folder. */

const folder = new URL('consultations/', import.meta.url)
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const current = new URL(`${version}-consult.json`, folder)

if (process.env.UPDATE_GOLDEN === '1' && !existsSync(current)) {
  mkdirSync(folder, { recursive: true })
  await using troupe = await createTroupe({ store: 'memory', ...consultOptions() })
  const { run_id } = await troupe.run('task', consultInput)
  writeFileSync(current, `${JSON.stringify(await troupe.events(run_id).all(), null, 1)}\n`)
}

const journals = readdirSync(folder).map((name) => [name] as const)

/** The journal as if it had been recorded just now: deadlines run on while no process executes a run, and a loop is one within an hour. */
function readJournal(name: string): Event[] {
  const events = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Event[]
  const shift = Date.now() - (events.at(-1)?.at ?? 0)
  return events.map((event) => ({ ...event, at: event.at + shift }))
}

test.each(journals)(
  'X20 the journal %s resumes from every event to the same result and asks nobody twice',
  async (name) => {
    const events = readJournal(name)
    const end = events.at(-1)
    const output = end?.type === 'run:end' ? end.data.output : undefined
    const countAnswers = (of: readonly Event[]) => of.filter(({ type }) => type === 'model:end').length
    for (let length = 1; length <= events.length; length++) {
      const asked: string[] = []
      const prefix = events.slice(0, length)
      await using troupe = await createTroupe({ store: await createStore(prefix), ...consultOptions(asked) })
      const run_id = end?.run_id ?? ''
      const result = await (await troupe.resume(run_id)).result
      expect([length, result.status, result.output]).toEqual([length, 'completed', output])
      expect([length, asked.length]).toEqual([length, countAnswers(events) - countAnswers(prefix)])
      const whole = await troupe.events(run_id).all()
      expect([length, verifyJournal(whole)]).toEqual([length, []])
      expect([length, (await troupe.replay(run_id)).differences]).toEqual([length, []])
      const facts = (of: readonly Event[]) =>
        of.filter(({ type }) => type.startsWith('consult:')).map(({ type }) => type)
      expect([length, facts(whole)]).toEqual([length, facts(events)])
    }
  },
)
