import { describe, expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import type { TeamReplies, TeamRun } from '../../../test/support/team-harness.ts'
import { readTeamRun, requestsFrom, runTeam } from '../../../test/support/team-harness.ts'
import type { Limits } from '../../index.ts'

const broken = () => Object.assign(new Error('the provider is down'), { status: 404 })
/** Fails the first turn; later turns answer as a member of any group may. */
const failOnce = (text: string) => (turn: number) =>
  turn === 1 ? broken() : { response: text, recommendation: text, confidence: 0.9, concerns: [], questions: [] }

const team = (kind: 'parallel' | 'consensus') => ({
  name: 'Panel',
  entry: 'panel',
  agents: [{ name: 'p' }, { name: 'q' }, { name: 'r' }],
  groups: [{ name: 'panel', kind, members: ['p', 'q', 'r'], ...(kind === 'consensus' ? { synthesis: 'merge' } : {}) }],
  after_work_behavior: 'terminate',
})

async function resume(run: TeamRun, limits: Partial<Limits> = {}): Promise<TeamRun> {
  const handle = await run.troupe.resume(run.result.run_id, { limits })
  return readTeamRun(run.troupe, run.model, await handle.result)
}

/** The tokens of all model requests in the journal. */
const usedTokens = ({ events }: TeamRun) =>
  eventData(events, 'model:end').reduce((sum, { usage }) => sum + usage.input + usage.output, 0)

const requestCounts = (run: TeamRun) => ['p', 'q', 'r'].map((name) => requestsFrom(run, name).length)

describe('resume after a group failed', () => {
  for (const kind of ['parallel', 'consensus'] as const) {
    test(`TM50 resume retries every failed member of a ${kind} group`, async () => {
      const failed = await runTeam(
        team(kind),
        { p: failOnce('P'), q: failOnce('Q'), r: failOnce('R') },
        { embedder: false },
      )
      expect(failed.result.status).toBe('failed')
      const done = await resume(failed)
      expect(done.result.status).toBe('completed')
      expect(requestCounts(done)).toEqual([2, 2, 2])
      for (const text of ['P', 'Q', 'R'])
        expect(done.output.history.map(({ parts }) => parts[0]?.text).join()).toContain(text)
      expect(done.output.history.some(({ error }) => error !== undefined)).toBe(false)
    })
  }

  for (const kind of ['parallel', 'consensus'] as const) {
    test(`TM40 totals of a resumed ${kind} group have the tokens of all attempts once`, async () => {
      const answer = { response: 'A', recommendation: 'A', confidence: 0.9, concerns: [], questions: [] }
      const one = { ...team(kind), limits: { max_parallel: 1 } }
      for (const inner of [
        one,
        { name: 'Outer', agents: [{ name: 'inner', team: one }], after_work_behavior: 'terminate' },
      ]) {
        let run = await runTeam(
          inner,
          { p: [answer], q: [answer], r: [answer] },
          { embedder: false, limits: { calls: 1 } },
        )
        for (const calls of [2, 10]) {
          expect(run.result.error?.code).toBe('limit_reached')
          expect(run.output.totals.tokens).toBe(usedTokens(run))
          run = await resume(run, { calls })
        }
        expect([run.result.status, ...requestCounts(run)]).toEqual(['completed', 1, 1, 1])
        expect(run.output.totals.tokens).toBe(usedTokens(run))
      }
    })
  }

  test('TM50 a group inside a sub-team is retried as a whole, too', async () => {
    const outer = {
      name: 'Outer',
      agents: [{ name: 'inner', team: team('parallel') }],
      after_work_behavior: 'terminate',
    }
    const failed = await runTeam(outer, { p: failOnce('P'), q: failOnce('Q'), r: failOnce('R') })
    expect(failed.result.status).toBe('failed')
    const done = await resume(failed)
    expect([done.result.status, ...requestCounts(done)]).toEqual(['completed', 2, 2, 2])
  })

  test('TM50 at a limit the finished members are kept and the others are retried', async () => {
    const replies: TeamReplies = { p: ['P'], q: failOnce('Q'), r: ['R'] }
    const one = { ...team('parallel'), limits: { max_parallel: 1 } }
    const stopped = await runTeam(one, replies, { limits: { calls: 2 } })
    expect(stopped.result.error?.code).toBe('limit_reached')
    const done = await resume(stopped, { calls: 10 })
    expect(done.result.status).toBe('completed')
    expect(requestCounts(done)).toEqual([1, 2, 1])
    expect(done.output.history.map(({ parts }) => parts[0]?.text)).toEqual([
      'Please do it.',
      'P',
      expect.stringContaining('"Q"'),
      'R',
    ])
  })
})
