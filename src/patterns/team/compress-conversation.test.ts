import { describe, expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import {
  answerQuestion,
  conversationFrom,
  readTeamRun,
  requestsFrom,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import { createTroupe } from '../../index.ts'

const names = Array.from({ length: 10 }, (_, n) => `agent_${n}`)
const chain = {
  name: 'Long',
  agents: names.map((name) => ({ name })),
  handoffs: names.slice(1).map((to_agent, n) => ({ from_agent: names[n] ?? '', to_agent, condition: `round > ${n}` })),
  limits: { context_tokens: 600 },
  after_work_behavior: 'terminate',
}
const long = Object.fromEntries(names.map((name) => [name, [`${name} says: ${'word '.repeat(80)}`]]))

describe('a long conversation', () => {
  test('TM20 a summary replaces older messages; the request, handoffs and artifacts are kept verbatim', async () => {
    const run = await runTeam(chain, { ...long, summarizer: ['The summary.'] }, { message: 'The request.' })
    expect([run.result.status, run.route]).toEqual(['completed', names])
    const compressions = eventData(run.events, 'team:compress')
    expect(compressions.length).toBeGreaterThan(0)
    for (const { before, after } of compressions) expect(after).toBeLessThan(before)
    const first = compressions[0]?.round ?? 0
    const [modelRequest] = requestsFrom(run, `agent_${first - 1}`)
    if (!modelRequest) throw new Error('no request has the summary')
    const [request, summary, ...rest] = conversationFrom(modelRequest)
    expect(request).toEqual({ from: 'user', text: 'The request.' })
    expect(summary).toMatchObject({ from: 'team', summary: 'The summary.' })
    expect((summary as { decisions: string[] }).decisions).toEqual(
      run.output.handoffs
        .slice(0, first - 1)
        .map(({ round, from, to, handoff_reason }) => `${round}: ${from} → ${to}: ${handoff_reason}`),
    )
    expect(rest).toHaveLength(4)
    expect(rest.at(-1)).toMatchObject({ from: `agent_${first - 2}`, text: long[`agent_${first - 2}`]?.[0] })
    expect(run.output.history).toHaveLength(1 + names.length)
    expect(await run.troupe.replay(run.result.run_id)).toMatchObject({ same: true })
  })

  test('TM20 the request of the summarizer starts like the others, so that the prompt cache applies', async () => {
    const run = await runTeam(chain, { ...long, summarizer: ['Short.'] })
    const [modelRequest] = requestsFrom(run, 'summarizer')
    const before = run.model.requests[run.model.requests.indexOf(modelRequest as never) - 1]
    expect(modelRequest?.system).toBe(before?.system)
    expect(modelRequest?.messages.slice(0, before ? before.messages.length - 1 : 0)).toEqual(
      before?.messages.slice(0, -1),
    )
  })

  test('TM20 a failed summary changes nothing and is not retried in every turn', async () => {
    const broken = Object.assign(new Error('no'), { status: 404 })
    const run = await runTeam(chain, { ...long, summarizer: [broken] })
    expect([run.result.status, run.route]).toEqual(['completed', names])
    expect(requestsFrom(run, 'summarizer').length).toBeLessThan(4)
    const last = run.model.requests.at(-1)
    expect(last && conversationFrom(last)).toHaveLength(names.length)
  })

  test('TM20 the first and the latest user message are kept', async () => {
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
    const replies = { ...long, summarizer: ['So far.'], w: ['W'] }
    const waiting = await runTeam(team, replies, { message: 'FIRST REQUEST' })
    const done = await answerQuestion(waiting, 'NEW REQUEST')
    expect(done.events.map(({ type }) => type)).toContain('team:compress')
    const users = (name: string) =>
      requestsFrom(done, name).map((request) =>
        conversationFrom(request).flatMap(({ from, text }) => (from === 'user' ? String(text) : [])),
      )
    expect(users('agent_9')).toEqual([['FIRST REQUEST', 'NEW REQUEST']])
    expect(users('w')).toEqual([['FIRST REQUEST', 'NEW REQUEST']])
  })

  test('TM20 a sub-team keeps its request, not the first inherited message', async () => {
    const subTeam = { ...chain, agents: chain.agents.slice(1), handoffs: chain.handoffs.slice(1) }
    const team = {
      name: 'Top',
      agents: [{ name: 'agent_0' }, { name: 'sub', team: subTeam }],
      handoffs: [{ from_agent: 'agent_0', to_agent: 'sub' }],
      after_work_behavior: 'terminate',
    }
    const rules = subTeam.handoffs.map(({ from_agent, to_agent }) => ({ from_agent, to_agent }))
    const rest = { ...team, agents: [{ name: 'agent_0' }, { name: 'sub', team: { ...subTeam, handoffs: rules } }] }
    const run = await runTeam(rest, { ...long, summarizer: ['So far.'] }, { message: 'THE REQUEST' })
    const [modelRequest] = requestsFrom(run, 'agent_9')
    const [first, second] = modelRequest ? conversationFrom(modelRequest) : []
    expect([first, second]).toMatchObject([
      { from: 'user', text: 'THE REQUEST' },
      { from: 'team', summary: 'So far.' },
    ])
  })

  test('TM20 long user messages are summarized too, except the request and the newest', async () => {
    const team = {
      name: 'Talk',
      agents: [{ name: 'a' }],
      handoffs: [{ from_agent: 'a', to_agent: 'user', condition: 'round < 8' }],
      limits: { context_tokens: 600 },
      after_work_behavior: 'terminate',
    }
    let run = await runTeam(team, { a: ['Go on.'], summarizer: ['So far.'] }, { message: 'THE REQUEST' })
    for (let n = 1; n < 8; n++) run = await answerQuestion(run, `part ${n}: ${'word '.repeat(80)}`)
    expect(run.result.status).toBe('completed')
    const last = run.model.requests.findLast(({ session }) => session.agent === 'a')
    const users = (last ? conversationFrom(last) : []).flatMap(({ from, text }) =>
      from === 'user' ? String(text) : [],
    )
    expect(users[0]).toBe('THE REQUEST')
    expect(users.at(-1)).toMatch(/^part 7/)
    expect(users.length).toBeLessThan(8)
  })

  test('TM20 the summary lists the artifacts of the replaced messages', async () => {
    const model = teamModel({ ...long, summarizer: ['Short.'] })
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
    const result = await troupe.run('team' as string, { team: { ...chain, agents }, message: 'Go.' })
    const run = await readTeamRun(troupe, model, result)
    const last = run.model.requests.at(-1)
    expect(last && conversationFrom(last)[1]).toMatchObject({ from: 'team', artifacts: ['plan@1'] })
  })
})
