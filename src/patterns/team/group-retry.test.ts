import { describe, expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import type { TeamReplies, TeamRun } from '../../../test/support/team-harness.ts'
import { readTeamRun, requestsFrom, runTeam } from '../../../test/support/team-harness.ts'
import { agent, createTestTroupe, functionModel, runToEnd, taskCall } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
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

describe('resume after an outage for some members of a group', () => {
  const down = () => Object.assign(new Error('the provider is down'), { status: 402 })
  const answer = (text: string) => ({
    response: text,
    recommendation: text,
    confidence: 0.9,
    concerns: [],
    questions: [],
  })
  const failFirst = (text: string) => (turn: number) => (turn === 1 ? down() : answer(text))

  for (const kind of ['parallel', 'consensus'] as const) {
    const panel = {
      ...team(kind),
      agents: [{ name: 'p' }, { name: 'q' }, { name: 'r' }, { name: 'writer' }],
      handoffs: [{ from_agent: 'panel', to_agent: 'writer' }],
    }
    const nested = { name: 'Outer', agents: [{ name: 'inner', team: panel }], after_work_behavior: 'terminate' }
    test.each([
      ['a', panel],
      ['a nested', nested],
    ])(`TM78 resume asks the missing members of %s ${kind} group before the team goes on`, async (_, definition) => {
      const replies: TeamReplies = { p: [answer('P')], q: failFirst('Q'), r: failFirst('R'), writer: ['written'] }
      const failed = await runTeam(definition, replies, { embedder: false })
      expect([failed.result.status, ...requestCounts(failed)]).toEqual(['failed', 1, 1, 1])
      expect(requestsFrom(failed, 'writer')).toEqual([])
      expect(failed.output.response).toContain('P')
      const done = await resume(failed)
      expect([done.result.status, done.output.response, ...requestCounts(done)]).toEqual([
        'completed',
        'written',
        1,
        2,
        2,
      ])
      const [request] = requestsFrom(done, 'writer')
      for (const text of ['P', 'Q', 'R'])
        expect(JSON.stringify(request?.messages)).toMatch(new RegExp(`[^A-Z]${text}[^A-Z]`))
      expect(JSON.stringify(request?.messages)).not.toContain('the provider is down')
      expect(done.output.totals.tokens).toBe(usedTokens(done))
      expect((await done.troupe.replay(done.result.run_id)).differences).toEqual([])
      expect(verifyJournal(await done.troupe.events(done.result.run_id).all())).toEqual([])
    })
  }

  test('TM78 a rule about the missing member lets the team go on, and it is not asked again', async () => {
    const handled = {
      ...team('parallel'),
      agents: [{ name: 'p' }, { name: 'q' }, { name: 'r' }, { name: 'writer' }],
      handoffs: [{ from_agent: 'panel', to_agent: 'writer', condition: 'p complete and not q complete', priority: 1 }],
    }
    const replies: TeamReplies = { p: ['P'], q: failFirst('Q'), r: ['R'], writer: ['written'] }
    const done = await runTeam(handled, replies, { embedder: false })
    expect([done.result.status, done.output.response]).toEqual(['completed', 'written'])
  })

  test('TM78 the sub-agents of a member that failed are taken up, too', async () => {
    const delegating = {
      name: 'Pair',
      entry: 'both',
      agents: [{ name: 'p' }, { name: 'q', tools: ['task'] }],
      groups: [{ name: 'both', kind: 'parallel', members: ['p', 'q'] }],
      after_work_behavior: 'terminate',
    }
    let isDown = true
    const served: string[] = []
    const model = functionModel(({ session: { agent: name, turn } }) => {
      if (isDown && (name === 'helper' || (name === 'q' && turn === 2))) throw down()
      served.push(`${name} ${turn}`)
      return name === 'q' && turn === 1 ? { calls: [taskCall('helper', 'help')] } : { text: `${name} is done` }
    })
    const { troupe } = await createTestTroupe({ agents: [agent('helper', {})], model, limits: { depth: 2 } })
    const failed = await runToEnd(troupe, 'team' as string, { team: delegating, message: 'go' })
    expect([failed.status, served]).toEqual(['failed', ['p 1', 'q 1']])
    isDown = false
    const done = await (await troupe.resume(failed.run_id)).result
    expect([done.status, served.slice(2)]).toEqual(['completed', ['helper 1', 'q 2']])
    expect((await troupe.replay(failed.run_id)).differences).toEqual([])
  })
})
