import { describe, expect, test } from 'vitest'
import {
  answerQuestion,
  conversationFrom,
  readTeamRun,
  requestsFrom,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import { createTroupe } from '../../index.ts'
import { isEvent } from '../../kernel/event.ts'

const names = Array.from({ length: 10 }, (_, n) => `agent_${n}`)
const chain = {
  name: 'Long',
  agents: names.map((name) => ({ name })),
  handoffs: names.slice(1).map((to_agent, n) => ({ from_agent: names[n] ?? '', to_agent, condition: `round > ${n}` })),
  limits: { context_tokens: 600 },
  after_work_behavior: 'terminate',
}
const long = Object.fromEntries(names.map((name) => [name, [`${name} says: ${'word '.repeat(80)}`]]))

describe('a conversation that gets long', () => {
  test('TM20 older messages become a summary; what was asked, every handoff and every artifact stay to the letter', async () => {
    const scene = await runTeam(chain, { ...long, scribe: ['What matters so far.'] }, { message: 'The request.' })
    expect([scene.result.status, scene.route]).toEqual(['completed', names])
    const told = scene.events.flatMap((event) => (isEvent(event, 'team:compress') ? event.data : []))
    expect(told.length).toBeGreaterThan(0)
    for (const { before, after } of told) expect(after).toBeLessThan(before)
    const first = told[0]?.round ?? 0
    const [asked] = requestsFrom(scene, `agent_${first - 1}`)
    if (!asked) throw new Error('nobody read the summary')
    const [request, summary, ...whole] = conversationFrom(asked)
    expect(request).toEqual({ from: 'user', text: 'The request.' })
    expect(summary).toMatchObject({ from: 'team', summary: 'What matters so far.' })
    expect((summary as { decisions: string[] }).decisions).toEqual(
      scene.output.handoffs
        .slice(0, first - 1)
        .map(({ round, from, to, handoff_reason }) => `${round}: ${from} → ${to}: ${handoff_reason}`),
    )
    expect(whole).toHaveLength(4)
    expect(whole.at(-1)).toMatchObject({ from: `agent_${first - 2}`, text: long[`agent_${first - 2}`]?.[0] })
    expect(scene.output.history).toHaveLength(1 + names.length)
    expect(await scene.troupe.replay(scene.result.run_id)).toMatchObject({ same: true })
  })

  test('TM20 the scribe reads the shared conversation itself, so that its request begins as the others do', async () => {
    const scene = await runTeam(chain, { ...long, scribe: ['Short.'] })
    const [asked] = requestsFrom(scene, 'scribe')
    const before = scene.model.requests[scene.model.requests.indexOf(asked as never) - 1]
    expect(asked?.system).toBe(before?.system)
    expect(asked?.messages.slice(0, before ? before.messages.length - 1 : 0)).toEqual(before?.messages.slice(0, -1))
  })

  test('TM20 a summary that fails leaves everything as it is, and is not tried in every turn', async () => {
    const broken = Object.assign(new Error('no'), { status: 404 })
    const scene = await runTeam(chain, { ...long, scribe: [broken] })
    expect([scene.result.status, scene.route]).toEqual(['completed', names])
    expect(requestsFrom(scene, 'scribe').length).toBeLessThan(4)
    const last = scene.model.requests.at(-1)
    expect(last && conversationFrom(last)).toHaveLength(names.length)
  })

  test('TM20 in a conversation that goes on, the last thing that was asked stays as well as the first', async () => {
    const team = {
      name: 'Long',
      agents: [...chain.agents, { name: 'sub', team: { name: 'In', agents: [{ name: 'w' }] } }],
      handoffs: [
        { from_agent: 'agent_0', to_agent: 'user', condition: 'round == 1' },
        ...chain.handoffs.map((rule) => ({ ...rule, condition: 'round > 1' })),
        { from_agent: 'agent_9', to_agent: 'sub' },
      ],
      limits: { context_tokens: 600 },
      after_work_behavior: 'terminate',
    }
    const replies = { ...long, scribe: ['So far.'], w: ['W'] }
    const asked = await runTeam(team, replies, { message: 'FIRST REQUEST' })
    const done = await answerQuestion(asked, 'NEW REQUEST')
    expect(done.events.map(({ type }) => type)).toContain('team:compress')
    const users = (name: string) =>
      requestsFrom(done, name).map((request) =>
        conversationFrom(request).flatMap(({ from, text }) => (from === 'user' ? String(text) : [])),
      )
    expect(users('agent_9')).toEqual([['FIRST REQUEST', 'NEW REQUEST']])
    expect(users('w')).toEqual([['FIRST REQUEST', 'NEW REQUEST']])
  })

  test('TM20 a team within keeps the request, not the first of what it was told beside it', async () => {
    const within = { ...chain, agents: chain.agents.slice(1), handoffs: chain.handoffs.slice(1) }
    const team = {
      name: 'Top',
      agents: [{ name: 'agent_0' }, { name: 'sub', team: within }],
      handoffs: [{ from_agent: 'agent_0', to_agent: 'sub' }],
      after_work_behavior: 'terminate',
    }
    const rules = within.handoffs.map(({ from_agent, to_agent }) => ({ from_agent, to_agent }))
    const whole = { ...team, agents: [{ name: 'agent_0' }, { name: 'sub', team: { ...within, handoffs: rules } }] }
    const scene = await runTeam(whole, { ...long, scribe: ['So far.'] }, { message: 'THE REQUEST' })
    const [asked] = requestsFrom(scene, 'agent_9')
    const [first, second] = asked ? conversationFrom(asked) : []
    expect([first, second]).toMatchObject([
      { from: 'user', text: 'THE REQUEST' },
      { from: 'team', summary: 'So far.' },
    ])
  })

  test('TM20 users who say very much do not keep a conversation from being compressed: the request and the newest stay', async () => {
    const team = {
      name: 'Talk',
      agents: [{ name: 'a' }],
      handoffs: [{ from_agent: 'a', to_agent: 'user', condition: 'round < 8' }],
      limits: { context_tokens: 600 },
      after_work_behavior: 'terminate',
    }
    let scene = await runTeam(team, { a: ['Go on.'], scribe: ['So far.'] }, { message: 'THE REQUEST' })
    for (let n = 1; n < 8; n++) scene = await answerQuestion(scene, `part ${n}: ${'word '.repeat(80)}`)
    expect(scene.result.status).toBe('completed')
    const last = scene.model.requests.findLast(({ session }) => session.agent === 'a')
    const users = (last ? conversationFrom(last) : []).flatMap(({ from, text }) =>
      from === 'user' ? String(text) : [],
    )
    expect(users[0]).toBe('THE REQUEST')
    expect(users.at(-1)).toMatch(/^part 7/)
    expect(users.length).toBeLessThan(8)
  })

  test('TM20 artifacts that the older messages named are named in their place', async () => {
    const model = teamModel({ ...long, scribe: ['Short.'] })
    const stream = model.stream.bind(model)
    model.stream = async function* (request, signal) {
      if (request.session.agent === 'agent_0' && request.session.turn === 1) {
        yield { type: 'tool-call', id: 'c', name: 'ArtifactWrite', input: { name: 'plan', content: 'p' } }
        yield {
          type: 'finish',
          stop: 'tool_calls',
          usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 },
        }
        return
      }
      yield* stream(request, signal)
    }
    const troupe = await createTroupe({ store: 'memory', model })
    const agents = chain.agents.map((agent, n) => (n === 0 ? { ...agent, tools: ['ArtifactWrite'] } : agent))
    const result = await troupe.run('team', { team: { ...chain, agents }, message: 'Go.' })
    const scene = await readTeamRun(troupe, model, result)
    const last = scene.model.requests.at(-1)
    expect(last && conversationFrom(last)[1]).toMatchObject({ from: 'team', artifacts: ['plan@1'] })
  })
})
