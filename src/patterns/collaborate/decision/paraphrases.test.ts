import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  judgeReply,
  permanentError,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { findContradiction } from '../../../judgement/similarity/similarity.ts'

/** Everyday paraphrases: pairs that people would call the same decision. */
const PARAPHRASES: [string, string][] = [
  ['approve the PR', 'approve the pull request'],
  ['yes', 'yes, do it'],
  ['yes', 'I agree'],
  ['LGTM', 'approve'],
  ['Go ahead', 'proceed'],
  ['ship it', 'release it now'],
  ['reject', 'do not approve'],
  ['do not merge', 'reject the pull request'],
  ['no', "no, don't merge it"],
  ['wait', 'hold off'],
  ['Use Postgres', 'Go with PostgreSQL'],
  ['Use PostgreSQL for the payments data', 'Store payments in Postgres'],
  ['roll back the release', 'revert the deployment'],
  ['add an index on user_id', 'create an index for the user_id column'],
  ['Increase the timeout to 30 seconds', 'raise the timeout to 30s'],
  ['Keep the monolith', 'stay with the monolith'],
  ['Fix the tests first', 'repair the failing tests before anything else'],
  ['postpone the launch', 'delay the release'],
  ['use feature flags', 'put it behind a feature flag'],
  ['split the service in two', 'divide the service into 2 services'],
  ['Do not deploy on Friday', 'avoid Friday deployments'],
  ['delete the unused code', 'remove dead code'],
  ['do nothing', 'leave it as is'],
  ["Don't deploy today", 'wait until tomorrow'],
  ['stop using jQuery', 'remove jQuery'],
  ['use JWT', 'use JSON web tokens'],
  ['require 2FA', 'require two-factor authentication'],
  ['On Monday the team ships the release', 'The team ships the release on Monday'],
  ['take the 1st option', 'choose the first option'],
]

/** Pairs that never merge, even if the judge calls every pair the same. */
const OPPOSITES: [string, string][] = [
  ['increase the timeout', 'decrease the timeout'],
  ['approve', 'reject'],
  ['yes', 'no'],
  ['go ahead', 'wait'],
  ['merge it', 'do not merge it'],
  ['stop using jQuery', 'use jQuery'],
  ['deploy today', 'wait until tomorrow'],
  ['raise the limit to 30', 'raise the limit to 60'],
  ['use Redis', 'use Memcached'],
  ['enable caching', 'disable caching'],
  ['microservices', 'monolith'],
  ['Option A', 'Option B'],
  ['Ask Ada Lovelace', 'Ask Alan Turing'],
  ['France or Germany', 'Italy and Spain'],
  ['deploy on Monday', 'do not deploy on Tuesday'],
  ['postpone the Monday release', 'do not release on Tuesday'],
  ['test before the release', 'test after the release'],
  ['yes', 'yes, but only after a security review'],
]

const vote = { synthesis: 'vote', agents: [{ name: 'a' }, { name: 'b' }] }
const same = judgeReply(() => true)

function positions(one: string, other: string): AgentReplies {
  return { a: contributionJson(one, 0.9), b: contributionJson(other, 0.9) }
}

describe('recommendations in different words', () => {
  test.each(PARAPHRASES)('CO29 %j and %j are one position after one request to the judge', async (one, other) => {
    const { output, model } = await runCollaboration({ ...positions(one, other), judge: same }, vote)
    expect(output.vote).toMatchObject({ tie: false, reason: 'all recommendations agree' })
    expect(output.consensus).toMatchObject({ agreement_score: 1, minority_report: [], dissenting: [] })
    expect(model.requestsFrom('judge').length).toBeLessThanOrEqual(1)
  })

  test.each(OPPOSITES)('CO28 %j and %j are two positions, and the judge is not asked', async (one, other) => {
    expect(findContradiction(one, other)).toBeDefined()
    const { output, model } = await runCollaboration({ ...positions(one, other), judge: same }, vote)
    expect(output.vote).toMatchObject({ tie: true, winner: null })
    expect(model.requestsFrom('judge')).toEqual([])
  })

  test('CO29 a tie that the judge confirms is reported', async () => {
    const { output } = await runCollaboration(positions('add an index', 'rewrite the query'), vote)
    expect(output.vote).toMatchObject({ tie: true, tied: ['add an index', 'rewrite the query'] })
  })

  test('CO29 the same request in a later run of the project is answered from the cache', async () => {
    const { troupe, model } = await createCollaborationTroupe({ ...positions('yes', 'yes, do it'), judge: same })
    for (const task of ['Ship?', 'Really?']) {
      const { output } = await troupe.run('collaborate' as string, { ...vote, task })
      expect((output as CollaborateRunOutput).vote?.winner).toBe('yes')
    }
    expect(model.requestsFrom('judge')).toHaveLength(1)
  })
})

describe('a judge that gives no verdict', () => {
  const failures: [string, AgentReplies[string], RegExp][] = [
    ['fails', permanentError('overloaded'), /the judge failed: .*overloaded/],
    ['answers nonsense', 'who knows', /the judge failed: the response does not match/],
    ['leaves the pair out', '{"pairs":[]}', /gave no verdict on 1 of 1 pairs/],
    ['names an unknown pair', '{"pairs":[{"number":7,"same":true}]}', /gave no verdict on 1 of 1 pairs/],
    [
      'contradicts itself',
      '{"pairs":[{"number":1,"same":true},{"number":1,"same":false}]}',
      /gave no verdict on 1 of 1 pairs/,
    ],
  ]
  test.each(failures)('CO103 a judge that %s leaves the vote open: no tie, no dissent', async (_, judge, reason) => {
    const { output, result } = await runCollaboration({ ...positions('yes', 'yes, do it'), judge: judge ?? '' }, vote)
    expect(result).toMatchObject({ status: 'partial', stop_reason: 'partial' })
    expect(output.vote).toMatchObject({ winner: null, tie: false, unclear: [['yes', 'yes, do it']] })
    expect(output.consensus).toMatchObject({ tie: false, agreement_score: null, dissenting: [], key_disagreements: [] })
    expect(output.metadata.problems).toEqual([expect.stringMatching(reason)])
    expect(output.result).toContain('# No decision: it is unclear which recommendations are the same')
    expect(output.result).toContain('- may be the same: yes / yes, do it')
    expect(output.result).not.toMatch(/tie|dissent/i)
  })

  test('CO103 the winner is named when unclear pairs cannot change it', async () => {
    const replies = {
      a: contributionJson('yes', 0.9),
      b: contributionJson('yes', 0.9),
      c: contributionJson('rewrite the query', 0.5),
      judge: 'who knows',
    }
    const { output } = await runCollaboration(replies, { synthesis: 'vote', vote: { wave: 3 } })
    expect(output.vote).toMatchObject({ winner: 'yes', tie: false })
    expect(output.consensus).toMatchObject({ dissenting: [], minority_report: [], consensus_score: null })
    expect(output.metadata.status).toBe('partial')
    const contrary = { ...replies, c: contributionJson('no', 0.5) }
    const certain = await runCollaboration(contrary, { synthesis: 'vote', vote: { wave: 3 } })
    expect(certain.output.consensus).toMatchObject({ dissenting: ['role c'], agreement_score: 2 / 3 })
  })
})

describe('requests to the judge', () => {
  test('CO101 k specialists and a coordinator are k + 1 requests; unclear pairs are no dissent', async () => {
    const replies = { ...positions('yes', 'yes, do it'), coordinator: 'Do it.', judge: same }
    const { output, model } = await runCollaboration(replies, { agents: vote.agents })
    expect(model.requests).toHaveLength(3)
    expect(output.metadata.status).toBe('completed')
    expect(output.consensus).toMatchObject({ tie: false, unclear: [['yes', 'yes, do it']], key_disagreements: [] })
    expect(output.consensus.note).toContain('were not compared')
  })

  const six = Array.from({ length: 6 }, (_, index) => ({ name: `s${index}` }))
  const limits = { max_agents: 6 }

  test('CO102 unclear pairs that alone prevent a stop are judged after the wave; later rounds ask about new pairs only', async () => {
    const replies: AgentReplies = Object.fromEntries(six.map(({ name }) => [name, contributionJson('ship it', 1)]))
    const wordings = {
      s1: contributionJson('release it now', 1),
      s3: contributionJson('ship it today', 1),
      judge: same,
    }
    const input = { agents: six, limits, synthesis: 'vote', vote: { wave: 4 } }
    const { output, model } = await runCollaboration({ ...replies, ...wordings }, input)
    expect(output.metadata.saved).toMatchObject({ agents: ['s4', 's5'], why: 'cannot_change' })
    expect(output.vote).toMatchObject({ winner: 'ship it', reason: 'all recommendations agree' })
    expect(model.requestsFrom('judge')).toHaveLength(1)
  })

  test('CO102 the judge is not asked after a wave when its verdict could not end the vote', async () => {
    const replies: AgentReplies = Object.fromEntries(six.map(({ name }) => [name, contributionJson('ship it', 1)]))
    const wordings = { s1: contributionJson('release it now', 1), judge: same }
    const input = { agents: six, limits, synthesis: 'vote', vote: { wave: 2 } }
    const { output, model } = await runCollaboration({ ...replies, ...wordings }, input)
    // After the first wave four votes are open; after the second the judge's verdict ends the vote.
    expect(output.metadata.saved).toMatchObject({ agents: ['s4', 's5'] })
    expect(model.requestsFrom('judge')).toHaveLength(1)
  })
})
