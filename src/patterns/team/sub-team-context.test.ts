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

/** `a` returns to the user once, then hands on. */
const asksFirst = (next: unknown, more = {}) => ({
  name: 'Outer',
  agents: [{ name: 'a' }, next],
  handoffs: [
    { from_agent: 'a', to_agent: 'user', condition: 'round == 1' },
    { from_agent: 'a', to_agent: 'next' },
  ],
  after_work_behavior: 'terminate',
  ...more,
})

describe('a team within a team, or a group that is to agree', () => {
  test('TM30 works on the request; what the user says later is told to it as well, in order, and replaces nothing', async () => {
    const team = asksFirst({ name: 'next', team: inner('Inner', 'w') })
    const replies = { a: ['Which colour?', 'Blue it is.'], w: ['Painted.'] }
    const asked = await runTeam(team, replies, { message: 'Paint the house.' })
    const done = await answerQuestion(asked, 'blue')
    expect(done.result.status).toBe('completed')
    const [request] = requestsFrom(done, 'w')
    expect(request && conversationFrom(request).map(({ from, text }) => `${from}: ${text}`)).toEqual([
      ...['user: Paint the house.', 'Outer/a: Which colour?', 'user: blue', 'Outer/a: Blue it is.'],
    ])
  })

  test('TM30 the same for a group that is to agree: its task is the request', async () => {
    const team = {
      ...asksFirst({ name: 'one' }, { agents: [{ name: 'a' }, { name: 'one' }, { name: 'two' }] }),
      groups: [{ name: 'next', kind: 'consensus', members: ['one', 'two'], synthesis: 'merge' }],
    }
    const voice = { response: 'Yes.', recommendation: 'Yes.', confidence: 1, concerns: [], questions: [] }
    const replies = { a: ['Which colour?', 'Blue it is.'], one: [voice], two: [voice] }
    const done = await answerQuestion(await runTeam(team, replies, { message: 'Paint the house.' }), 'blue')
    const [request] = requestsFrom(done, 'one')
    const told = JSON.stringify(request?.messages)
    expect(told).toMatch(/Task[^"]*Paint the house\./)
    expect(told.match(/blue/g)).not.toBeNull()
  })

  test('TM32 whoever spoke in the team above is named with that team, so that two writers are not taken for one', async () => {
    const team = {
      name: 'Press',
      agents: [{ name: 'writer' }, { name: 'sub', team: inner('Desk', 'writer') }],
      handoffs: [{ from_agent: 'writer', to_agent: 'sub' }],
      after_work_behavior: 'terminate',
    }
    const scene = await runTeam(team, { writer: ['outer words', 'inner words'] })
    const [, within] = requestsFrom(scene, 'writer')
    expect(within && conversationFrom(within).map(({ from }) => from)).toEqual(['user', 'Press/writer'])
    expect(scene.output.response).toBe('inner words')
    const called = runTeam({ name: 'T', agents: [{ name: 'team' }] }, {})
    await expect(called).rejects.toThrow(/nobody can be called 'team'/)
  })

  test('TM34 is given the variables that its conditions use, of the types it says, through teams between as well', async () => {
    const deep = (more = {}) => ({
      name: 'Deep',
      agents: [{ name: 'i', outputs: { count: 'number' } }, { name: 'j' }],
      handoffs: [
        { from_agent: 'i', to_agent: 'j', condition: 'mood == "good"' },
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
    const warned = (whole: unknown) =>
      validateTeam(teamInput.parse({ team: whole, message: 'm' }).team).problems.map(({ message }) => message)
    expect(warned(team())).toEqual(["nobody sets 'mood', so this stays unknown"])
    expect(warned(team({ mood: 'bad' }))).toEqual([])
    await expect(runTeam(team(), replies, { variables: { moot: 'good' } })).rejects.toMatchObject({
      hint: "did you mean 'mood'?",
    })
  })

  test('TM36 is within another one only where that one runs it: no input says so, and an entry that is nobody is refused', async () => {
    const troupe = await createTroupe({ store: 'memory', model: teamModel({ nobody: ['invented'] }) })
    const team = { name: 'T', agents: [{ name: 'a' }], entry: 'nobody' }
    await expect(troupe.run('team', { team, message: 'x', nested: 1 })).rejects.toThrow(/nested/)
    await expect(troupe.run('team', { team, message: 'x' })).rejects.toThrow(/no agent or group 'nobody'/)
  })

  test('TM40 that fails is counted with what it took', async () => {
    const within = { ...inner('Inner', 'w'), agents: [{ name: 'w' }, { name: 'x' }] }
    const team = {
      name: 'Outer',
      agents: [
        { name: 'sub', team: { ...within, handoffs: [{ from_agent: 'w', to_agent: 'x' }] } },
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
    const scene = await readTeamRun(troupe, model, await troupe.run('team', { team, message: 'x' }))
    expect([scene.result.status, scene.route.at(-1)]).toEqual(['completed', 'last'])
    const paid = scene.events.flatMap((event) => (isEvent(event, 'model:end') ? event.data.usage : []))
    expect(paid).toHaveLength(4)
    expect(scene.output.totals.tokens).toBe(paid.reduce((sum, { input, output }) => sum + input + output, 0))
    expect(await scene.troupe.replay(scene.result.run_id)).toMatchObject({ same: true })
  })
})

describe('what members need', () => {
  const chain = (more: object) => ({
    name: 'T',
    agents: [{ name: 'a' }, { name: 'b', ...more }],
    handoffs: [{ from_agent: 'a', to_agent: 'b' }],
    after_work_behavior: 'terminate',
  })

  test('TM42 a model that cannot be had, of a team within too, ends the run before anybody has worked', async () => {
    const inside = { team: inner('Inner', 'w', { agents: [{ name: 'w', model: 'nowhere/at-all' }] }) }
    for (const more of [{ model: 'nowhere/at-all' }, inside]) {
      const scene = await runTeam(chain(more), { a: ['A'], b: ['B'], w: ['W'] })
      expect(scene.result).toMatchObject({ status: 'failed', error: { code: 'unknown_model' } })
      expect(scene.result.error?.message).toContain("cannot have the model 'nowhere/at-all'")
      expect(scene.model.requests).toEqual([])
    }
  })

  test('TM42 an open place of a team within that nobody fits is refused before the run', async () => {
    const form = { roles: [{ name: 'pilot', role: 'flies aeroplanes' }] }
    const within = { name: 'Inner', form, after_work_behavior: 'terminate' }
    await expect(runTeam(chain({ team: within }), { a: ['A'] })).rejects.toThrow(/nobody in the roster fits/)
  })

  test('TM42 a tool that is not there is told when the team starts, and its agent works without it', async () => {
    const scene = await runTeam(chain({ tools: ['ArtifactRaed'] }), { a: ['A'], b: ['B'] })
    const start = scene.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data.warnings).toEqual([
      "b: there is no tool 'ArtifactRaed', it works without; did you mean 'ArtifactRead'?",
    ])
    expect([scene.result.status, scene.route]).toEqual(['completed', ['a', 'b']])
    expect(await scene.troupe.replay(scene.result.run_id)).toMatchObject({ same: true })
    expect(requestsFrom(scene, 'b').map(lastMessageText)).toHaveLength(1)
  })
})

describe('what the user said in a run before', () => {
  test('TM30 comes before the request, which is then the last word', async () => {
    const model = teamModel({ a: ['A'] })
    const troupe = await createTroupe({ store: 'memory', model })
    const before = [
      { from: 'user', text: 'earlier' },
      { from: 'a', text: 'answered' },
    ]
    const team = { name: 'T', agents: [{ name: 'a' }], after_work_behavior: 'terminate' }
    const scene = await readTeamRun(troupe, model, await troupe.run('team', { team, message: 'now', before }))
    const [asked] = requestsFrom(scene, 'a')
    expect(asked && conversationFrom(asked).map(({ text }) => text)).toEqual(['earlier', 'answered', 'now'])
  })
})
