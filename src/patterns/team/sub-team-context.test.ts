import { describe, expect, test } from 'vitest'
import {
  answerQuestion,
  conversationFrom,
  readTeamRun,
  requestsFrom,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import { functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../index.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import { isEvent } from '../../kernel/event.ts'
import { teamInput } from './input.ts'

const broken = () => Object.assign(new Error('broke'), { status: 404 })

const inner = (name: string, worker: string, more = {}) => ({
  ...{ name, agents: [{ name: worker }], handoffs: [{ from_agent: worker, to_agent: 'user' }] },
  ...more,
})

/** A team in which `a` returns to the user once, then hands off to `next`. */
const replyThenHandoff = (next: unknown, more = {}) => ({
  name: 'Outer',
  agents: [{ name: 'a' }, next],
  handoffs: [
    { from_agent: 'a', to_agent: 'user', condition: 'round == 1' },
    { from_agent: 'a', to_agent: 'next' },
  ],
  after_work_behavior: 'terminate',
  ...more,
})

describe('context of a sub-team or consensus group', () => {
  test('TM30 a sub-team works on the request and gets later user messages in order', async () => {
    const team = replyThenHandoff({ name: 'next', team: inner('Inner', 'w') })
    const replies = { a: ['Which colour?', 'Blue it is.'], w: ['Painted.'] }
    const waiting = await runTeam(team, replies, { message: 'Paint the house.' })
    const done = await answerQuestion(waiting, 'blue')
    expect(done.result.status).toBe('completed')
    const [request] = requestsFrom(done, 'w')
    expect(request && conversationFrom(request).map(({ from, text }) => `${from}: ${text}`)).toEqual([
      ...['user: Paint the house.', 'Outer/a: Which colour?', 'user: blue', 'Outer/a: Blue it is.'],
    ])
  })

  test('TM30 a consensus group works on the request and gets later user messages', async () => {
    const team = {
      ...replyThenHandoff({ name: 'one' }, { agents: [{ name: 'a' }, { name: 'one' }, { name: 'two' }] }),
      groups: [{ name: 'next', kind: 'consensus', members: ['one', 'two'], synthesis: 'merge' }],
    }
    const contribution = { response: 'Yes.', recommendation: 'Yes.', confidence: 1, concerns: [], questions: [] }
    const replies = { a: ['Which colour?', 'Blue it is.'], one: [contribution], two: [contribution] }
    const done = await answerQuestion(await runTeam(team, replies, { message: 'Paint the house.' }), 'blue')
    const [request] = requestsFrom(done, 'one')
    const prompt = JSON.stringify(request?.messages)
    expect(prompt).toMatch(/<task>[^"]*Paint the house\./)
    expect(prompt.match(/blue/g)).not.toBeNull()
  })

  test('TM32 inherited messages name their author as Team/name, and no agent can be called team', async () => {
    const team = {
      name: 'Press',
      agents: [{ name: 'writer' }, { name: 'sub', team: inner('Desk', 'writer') }],
      handoffs: [{ from_agent: 'writer', to_agent: 'sub' }],
      after_work_behavior: 'terminate',
    }
    const run = await runTeam(team, { writer: ['outer words', 'inner words'] })
    const [, subTeamRequest] = requestsFrom(run, 'writer')
    expect(subTeamRequest && conversationFrom(subTeamRequest).map(({ from }) => from)).toEqual(['user', 'Press/writer'])
    expect(run.output.response).toBe('inner words')
    const reservedName = runTeam({ name: 'T', agents: [{ name: 'team' }] }, {})
    await expect(reservedName).rejects.toThrow(/the name 'team' is reserved/)
  })

  test('TM34 a sub-team gets the variables that it or a nested team uses, if their types fit', async () => {
    const deep = (more = {}) => ({
      name: 'Deep',
      agents: [{ name: 'i', outputs: { count: 'number' } }, { name: 'j' }],
      handoffs: [
        { from_agent: 'user', to_agent: 'j', condition: 'mood == "good"' },
        { from_agent: 'i', to_agent: 'user' },
      ],
      after_work_behavior: 'terminate',
      ...more,
    })
    const between = { name: 'Between', agents: [{ name: 'm', team: deep() }], after_work_behavior: 'terminate' }
    const team = (variables = {}) => ({
      ...{ name: 'Top', agents: [{ name: 'sub', team: between }], after_work_behavior: 'terminate' },
      context_variables: variables,
    })
    const replies = { i: ['I'], j: ['J'] }
    expect((await runTeam(team({ mood: 'good', count: 'many' }), replies)).output.response).toBe('J')
    expect((await runTeam(team({ mood: 'bad' }), replies)).output.response).toBe('I')
    expect((await runTeam(team(), replies, { variables: { mood: 'good' } })).output.response).toBe('J')
    await expect(runTeam(team(), replies, { variables: { count: 'many' } })).rejects.toThrow(/'count' is a number/)
    const problemMessages = (whole: unknown) =>
      validateTeam(teamInput.parse({ team: whole, message: 'm' }).team).problems.map(({ message }) => message)
    expect(problemMessages(team())).toEqual(["the variable 'mood' is never set, so this stays unknown"])
    expect(problemMessages(team({ mood: 'bad' }))).toEqual([])
    await expect(runTeam(team(), replies, { variables: { moot: 'good' } })).rejects.toMatchObject({
      hint: "did you mean 'mood'?",
    })
  })

  test('TM36 no input can claim to be a sub-team, and an unknown entry is rejected', async () => {
    const troupe = await createTroupe({ store: 'memory', model: teamModel({ nobody: ['invented'] }) })
    const team = { name: 'T', agents: [{ name: 'a' }], entry: 'nobody' }
    await expect(troupe.run('team' as string, { team, message: 'x', nested: 1 })).rejects.toThrow(/nested/)
    await expect(troupe.run('team', { team, message: 'x' })).rejects.toThrow(/no agent or group 'nobody'/)
  })

  test('TM40 totals.tokens includes failed sub-teams and consensus groups', async () => {
    const subTeam = { ...inner('Inner', 'w'), agents: [{ name: 'w' }, { name: 'x' }] }
    const team = {
      name: 'Outer',
      agents: [
        { name: 'sub', team: { ...subTeam, handoffs: [{ from_agent: 'w', to_agent: 'x' }] } },
        ...[{ name: 'one' }, { name: 'two' }, { name: 'last' }],
      ],
      groups: [{ name: 'g', kind: 'consensus', members: ['one', 'two'], synthesis: 'merge' }],
      handoffs: [
        { from_agent: 'sub', to_agent: 'g', condition: 'error detected' },
        { from_agent: 'g', to_agent: 'last', condition: 'error detected' },
      ],
      after_work_behavior: 'terminate',
    }
    const model = functionModel(({ session: { agent, turn } }) => {
      if (agent === 'x' || ((agent === 'one' || agent === 'two') && turn > 1)) throw broken()
      return agent === 'one' || agent === 'two' ? { calls: [{ name: 'Nothing', input: {} }] } : { text: agent }
    })
    const troupe = await createTroupe({ store: 'memory', model })
    const run = await readTeamRun(troupe, model, await troupe.run('team' as string, { team, message: 'x' }))
    expect([run.result.status, run.route.at(-1)]).toEqual(['completed', 'last'])
    const usages = run.events.flatMap((event) => (isEvent(event, 'model:end') ? event.data.usage : []))
    expect(usages).toHaveLength(4)
    expect(run.output.totals.tokens).toBe(usages.reduce((sum, { input, output }) => sum + input + output, 0))
    expect(await run.troupe.replay(run.result.run_id)).toMatchObject({ same: true })
  })
})

describe('preflight', () => {
  const chain = (more: object) => ({
    name: 'T',
    agents: [{ name: 'a' }, { name: 'b', ...more }],
    handoffs: [{ from_agent: 'a', to_agent: 'b' }],
    after_work_behavior: 'terminate',
  })

  test('TM42 an unavailable model, including in a sub-team, fails the run before the first model request', async () => {
    const subTeam = { team: inner('Inner', 'w', { agents: [{ name: 'w', model: 'nowhere/at-all' }] }) }
    for (const more of [{ model: 'nowhere/at-all' }, subTeam]) {
      const run = await runTeam(chain(more), { a: ['A'], b: ['B'], w: ['W'] })
      expect(run.result).toMatchObject({ status: 'failed', error: { code: 'unknown_model' } })
      expect(run.result.error?.message).toContain("`model` 'nowhere/at-all' is not available")
      expect(run.model.requests).toEqual([])
    }
  })

  test('TM42 an open role of a sub-team that no agent fits is rejected before the run', async () => {
    const form = { roles: [{ name: 'pilot', role: 'flies aeroplanes' }] }
    const subTeam = { name: 'Inner', form, after_work_behavior: 'terminate' }
    await expect(runTeam(chain({ team: subTeam }), { a: ['A'] })).rejects.toThrow(/no agent of the roster fits/)
  })

  test('TM42 an unknown tool is a warning in team:start, and the agent works without it', async () => {
    const run = await runTeam(chain({ tools: ['ArtifactRaed'] }), { a: ['A'], b: ['B'] })
    const start = run.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data.warnings).toEqual([
      "b: unknown tool 'ArtifactRaed', the agent works without it; did you mean 'ArtifactRead'?",
    ])
    expect([run.result.status, run.route]).toEqual(['completed', ['a', 'b']])
    expect(await run.troupe.replay(run.result.run_id)).toMatchObject({ same: true })
    expect(requestsFrom(run, 'b').map(lastMessageText)).toHaveLength(1)
  })
})

describe('messages of an earlier run', () => {
  test('TM30 messages of an earlier run come before the request', async () => {
    const model = teamModel({ a: ['A'] })
    const troupe = await createTroupe({ store: 'memory', model })
    const before = [
      { from: 'user', text: 'earlier' },
      { from: 'a', text: 'answered' },
    ]
    const team = { name: 'T', agents: [{ name: 'a' }], after_work_behavior: 'terminate' }
    const run = await readTeamRun(troupe, model, await troupe.run('team' as string, { team, message: 'now', before }))
    const [modelRequest] = requestsFrom(run, 'a')
    expect(modelRequest && conversationFrom(modelRequest).map(({ text }) => text)).toEqual([
      'earlier',
      'answered',
      'now',
    ])
  })
})
