import { describe, expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import {
  answerQuestion,
  conversationFrom,
  handoffsFrom,
  replyWithVerdicts,
  requestsFrom,
  routerVerdicts,
  runTeam,
} from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'

const pair = {
  name: 'Pair',
  agents: [{ name: 'writer' }, { name: 'reviewer' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'draft is complete' }],
}

describe('returning to the user', () => {
  test('TM9 return_to_user asks the user with the last answer, and the reply goes back to the agent', async () => {
    const waiting = await runTeam(pair, {
      writer: [replyWithVerdicts('Which colour?', false), replyWithVerdicts('Blue it is.', false)],
    })
    expect([waiting.result.status, waiting.result.gates[0]?.question]).toEqual(['waiting', 'Which colour?'])
    const again = await answerQuestion(waiting, 'Blue')
    expect([again.result.status, again.route]).toEqual(['waiting', ['writer', 'writer']])
    const [, second] = requestsFrom(again, 'writer')
    expect(second && conversationFrom(second).at(-1)).toEqual({ from: 'user', round: 1, text: 'Blue' })
    const ended = await answerQuestion(again, '')
    expect(ended.result.status).toBe('completed')
    expect(ended.output).toMatchObject({ response: 'Blue it is.', reason: 'ended_by_user', agent: 'writer' })
    expect(ended.output.history.map(({ agent_name }) => agent_name)).toEqual(['user', 'writer', 'user', 'writer'])
  })

  test('TM10 a rule from user routes a reply, and <name>_complete is reset', async () => {
    const team = {
      ...pair,
      handoffs: [
        { from_agent: 'user', to_agent: 'reviewer', condition: 'round > 0 and not writer complete' },
        { from_agent: 'writer', to_agent: 'user' },
        { from_agent: 'reviewer', to_agent: 'user' },
      ],
    }
    const waiting = await runTeam(team, { writer: ['first'], reviewer: ['second'] })
    const next = await answerQuestion(waiting, 'continue please')
    expect(next.route).toEqual(['writer', 'reviewer'])
    expect(handoffsFrom(next.events).at(-2)).toMatchObject({ from: 'user', to: 'reviewer', by: 'exact' })
  })

  test('TM9 terminate ends the team; continue repeats the agent until a loop is detected', async () => {
    const ended = await runTeam(
      { ...pair, after_work_behavior: 'terminate' },
      { writer: [replyWithVerdicts('x', false)] },
    )
    expect(ended.output.reason).toBe('terminated')
    const handoffs = [...pair.handoffs, { from_agent: 'any_agent', to_agent: 'user', condition: 'all is said' }]
    const more = { handoffs, after_work_behavior: 'continue' }
    const repeating = await runTeam({ ...pair, ...more }, { writer: [replyWithVerdicts('same', false, false)] })
    expect([repeating.result.status, repeating.result.gates[0]?.detail]).toMatchObject(['waiting', { kind: 'loop' }])
    expect(repeating.route.length).toBeLessThan(10)
  })
})

describe('human members', () => {
  const team = {
    name: 'Supervised',
    agents: [{ name: 'worker' }, { name: 'supervisor', kind: 'human', role: 'decides' }, { name: 'closer' }],
    handoffs: [
      { from_agent: 'worker', to_agent: 'supervisor', condition: 'a decision is needed' },
      { from_agent: 'supervisor', to_agent: 'closer', condition: 'the answer is a yes' },
      { from_agent: 'supervisor', to_agent: 'worker', priority: 0 },
    ],
    after_work_behavior: 'terminate',
  }

  test('TM17 a handoff to a human asks a person, and the rules from that human apply to the answer', async () => {
    const router = routerVerdicts({ 'the answer is a yes': true })
    const waiting = await runTeam(team, { worker: [replyWithVerdicts('May I?', true)], closer: ['closed'], router })
    expect(waiting.result.gates[0]).toMatchObject({ question: 'May I?', detail: { kind: 'person', as: 'supervisor' } })
    const done = await answerQuestion(waiting, 'Yes, go ahead')
    expect(done.route).toEqual(['worker', 'supervisor', 'closer'])
    const [request] = requestsFrom(done, 'closer')
    expect(request && conversationFrom(request).at(-1)).toEqual({
      from: 'supervisor',
      person: true,
      round: 2,
      text: 'Yes, go ahead',
    })
  })

  test('TM47 a human without a rule of its own answers the agent that asked', async () => {
    const silent = { ...team, handoffs: team.handoffs.slice(0, 1) }
    const replies = { worker: [replyWithVerdicts('May I?', true), replyWithVerdicts('Done.', false)] }
    const waiting = await runTeam(silent, replies)
    const done = await answerQuestion(waiting, 'Yes, go ahead')
    expect(done.route).toEqual(['worker', 'supervisor', 'worker'])
    expect(done.output).toMatchObject({ response: 'Done.', reason: 'terminated' })
    expect(done.output.handoffs[1]).toMatchObject({
      ...{ from: 'supervisor', to: 'worker', by: 'after_work' },
      handoff_reason: 'supervisor has no rule and answers worker, who asked',
    })
    const empty = await answerQuestion(await runTeam(silent, replies), '')
    expect([empty.route, empty.output.reason]).toEqual([['worker', 'supervisor'], 'terminated'])
    const first = await answerQuestion(await runTeam({ ...silent, entry: 'supervisor' }, {}), 'Nothing to do')
    expect([first.route, first.output.reason]).toEqual([['supervisor'], 'terminated'])
  })

  test('TM47 a rule from any_agent applies first, and rules of its own keep after_work_behavior', async () => {
    const all = { from_agent: 'any_agent', to_agent: 'closer', condition: 'last_agent == "supervisor"' }
    const general = { ...team, handoffs: [...team.handoffs.slice(0, 1), all] }
    const replies = { worker: [replyWithVerdicts('May I?', true)], closer: ['closed'] }
    expect((await answerQuestion(await runTeam(general, replies), 'Yes')).route.at(-1)).toBe('closer')
    const own = { ...team, handoffs: team.handoffs.slice(0, 2) }
    const router = routerVerdicts({ 'the answer is a yes': false })
    const done = await answerQuestion(await runTeam(own, { ...replies, router }), 'No')
    expect([done.route, done.output.reason]).toEqual([['worker', 'supervisor'], 'terminated'])
  })

  test('TM18 a rule with approve waits for yes, no or the name of another member', async () => {
    const withApproval = {
      name: 'Approval',
      agents: [{ name: 'writer' }, { name: 'publisher' }, { name: 'editor' }, { name: 'archive' }],
      handoffs: [
        { from_agent: 'writer', to_agent: 'publisher', approve: true, priority: 2 },
        { from_agent: 'writer', to_agent: 'archive' },
      ],
      after_work_behavior: 'terminate',
    }
    const replies = { writer: ['draft'], publisher: ['out'], editor: ['edited'], archive: ['kept'] }
    const route = async (...answers: unknown[]) => {
      let run = await runTeam(withApproval, replies)
      expect(run.result.gates[0]).toMatchObject({ detail: { kind: 'approve', from: 'writer', to: 'publisher' } })
      for (const answer of answers) run = await answerQuestion(run, answer)
      expect(run.result.status).toBe('completed')
      return run.route
    }
    expect(await route('yes')).toEqual(['writer', 'publisher'])
    expect(await route('no')).toEqual(['writer', 'archive'])
    expect(await route('editor')).toEqual(['writer', 'editor'])
    expect(await route('edtor', { do: 'override', agent: 'editor' })).toEqual(['writer', 'editor'])
  })
})

describe('loop detection', () => {
  const loop = {
    name: 'Loop',
    agents: [{ name: 'a' }, { name: 'b', outputs: { done: 'boolean' } }, { name: 'c' }],
    handoffs: [
      { from_agent: 'a', to_agent: 'b' },
      { from_agent: 'b', to_agent: 'user', condition: 'done', priority: 2 },
      { from_agent: 'b', to_agent: 'a' },
    ],
    after_work_behavior: 'terminate',
  }
  const busy = { a: (n: number) => `a${n}`, b: (n: number) => `b${n}`, c: ['end'] }

  test('TM19 a handoff repeated too often asks a person, who continues, redirects or stops the team', async () => {
    const stuck = await runTeam(loop, busy)
    expect(stuck.result.gates[0]).toMatchObject({ detail: { kind: 'loop', loop: 'edge_repeats', from: 'a', to: 'b' } })
    expect(eventData(stuck.events, 'team:loop')).toHaveLength(1)
    const again = await answerQuestion(stuck, 'continue')
    expect(again.result.status).toBe('waiting')
    expect(again.route.length).toBeGreaterThan(stuck.route.length)
    const ended = await answerQuestion(again, 'stop')
    expect([ended.result.status, ended.output.reason]).toEqual(['completed', 'stopped'])
    const redirected = await answerQuestion(await runTeam(loop, busy), 'c')
    expect(redirected.route.at(-1)).toBe('c')
    const entry = redirected.output.history.at(-2)
    expect([entry?.agent_name, entry?.handoff_target, entry?.handoff_reason]).toEqual([
      ...['a', 'c', expect.stringMatching(/^a handed off to b 4 times.*: a person chose c over b$/)],
    ])
    expect(redirected.output.handoffs.at(-2)).toMatchObject({ from: 'a', to: 'c', by: 'person' })
    expect(ended.output.history.at(-1)).toMatchObject({ handoff_triggered: false, handoff_target: null })
    expect(ended.output.handoffs.at(-1)).toMatchObject({ to: null, by: 'person' })
    expect(handoffsFrom(again.events)[stuck.route.length - 1]?.problems?.[0]).toMatch(/a person chose to continue/)
  })

  test('TM19 ping_pong detects repeated answers before any limit', async () => {
    const limits = { max_repeats_per_edge: 50, ping_pong: 2 }
    const stuck = await runTeam({ ...loop, limits }, { a: ['no'], b: ['yes'] })
    expect(stuck.result.gates[0]?.detail).toMatchObject({ loop: 'ping_pong' })
    expect(stuck.route).toEqual(['a', 'b', 'a', 'b'])
  })

  test('TM19 max_rounds stops a team that makes progress', async () => {
    const limits = { max_repeats_per_edge: 50, max_rounds: 6 }
    const stuck = await runTeam({ ...loop, limits }, busy)
    expect(stuck.result.gates[0]).toMatchObject({
      detail: { loop: 'max_rounds' },
      question: expect.stringMatching(/^The team has reached its limit: 6 turns/),
    })
    expect(stuck.route).toHaveLength(6)
    const once = await runTeam({ ...loop, limits: { max_rounds: 1 } }, busy)
    expect(once.route).toEqual(['a'])
  })

  test('TM19 a supervisor agent gets one turn before a person is asked', async () => {
    const team = { ...loop, supervisor: 'c', handoffs: [...loop.handoffs, { from_agent: 'c', to_agent: 'a' }] }
    const stuck = await runTeam(team, { ...busy, c: (n: number) => `c${n}` })
    expect(stuck.route.filter((name) => name === 'c')).toHaveLength(1)
    const [sent] = stuck.events.flatMap((event) =>
      isEvent(event, 'team:handoff') && event.data.to === 'c' ? event.data : [],
    )
    expect(sent).toMatchObject({
      from: 'a',
      by: 'supervisor',
      handoff_reason: expect.stringContaining('to c instead of b'),
    })
    expect(stuck.result.status).toBe('waiting')
  })
})
