import { describe, expect, test } from 'vitest'
import type { TeamRun } from '../../../test/support/team-harness.ts'
import { readTeamRun, requestsFrom, runTeam, teamModel } from '../../../test/support/team-harness.ts'
import { agent, createTroupeWithStore, lastMessageText, storeOf } from '../../../test/support/test-troupe.ts'
import type { Agent } from '../../index.ts'

const team = {
  name: 'Desk',
  agents: [
    { name: 'first', uses: 'scribe' },
    { name: 'second', uses: 'critic' },
  ],
  handoffs: [
    { from_agent: 'first', to_agent: 'second', condition: 'round > 1' },
    { from_agent: 'user', to_agent: 'first' },
  ],
}
const scribe = agent('scribe', { instructions: 'Write in verse.', model: 'other' })
const critic = agent('critic', { instructions: 'Judge the verse.' })
const nested = {
  name: 'House',
  agents: [{ name: 'desk', team: { ...team, after_work_behavior: 'terminate' } }],
  after_work_behavior: 'return_to_user',
}

/** A team that waits for a reply, continued in a process with another roster. */
async function continueWith(definition: unknown, agents: readonly Agent[]): Promise<TeamRun> {
  const replies = { first: ['A verse.'], second: ['Good.'] }
  const engine = { strict: true }
  const waiting = await runTeam(definition, replies, {
    ...{ agents: [scribe, critic], engine, models: { custom: [{ ...teamModel(replies), name: 'other' }] } },
  })
  expect(waiting.result.status).toBe('waiting')
  const later = teamModel(replies)
  const troupe = await createTroupeWithStore({
    ...{ store: storeOf(waiting.troupe), model: later, agents: [...agents], engine },
    models: { custom: ['other', 'third'].map((name) => ({ ...later, name })) },
  })
  const handle = await troupe.answer(waiting.result.gates[0]?.gate_id ?? '', 'Once more.')
  return readTeamRun(troupe, later, await handle.result)
}

const promptOf = (run: TeamRun, name: string) => requestsFrom(run, name).map(lastMessageText).join('\n')

describe('a roster that changed while a team waited', () => {
  test('TM52 a changed agent works as it is now, even in strict mode', async () => {
    const changed = agent('scribe', { instructions: 'Write in prose.', model: 'third', tools: [] })
    const run = await continueWith(team, [changed, critic])
    expect(run.result.status).toBe('waiting')
    expect(promptOf(run, 'first')).toContain('Write in prose.')
  })

  for (const [label, definition] of Object.entries({ team, nested })) {
    test(`TM52 a removed agent stops nothing: the ${label} waits and goes on where the agent is`, async () => {
      const run = await continueWith(definition, [critic])
      expect([run.result.status, run.result.error, run.model.requests.length]).toEqual(['waiting', null, 0])
      const restored = teamModel({ first: ['A verse.'], second: ['Good.'] })
      const troupe = await createTroupeWithStore({
        ...{ store: storeOf(run.troupe), model: restored, agents: [scribe, critic] },
        models: { custom: [{ ...restored, name: 'other' }] },
      })
      const handle = await troupe.resume(run.result.run_id)
      const done = await readTeamRun(troupe, restored, await handle.result)
      expect([done.result.status, done.result.error]).toEqual(['waiting', null])
      expect(promptOf(done, 'first')).toContain('Write in verse.')
    })
  }
})
