import { describe, expect, test } from 'vitest'
import type { TeamReplies, TeamRun } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  conversationFrom,
  readTeamRun,
  requestsFrom,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import type { SteerAction, Troupe } from '../../index.ts'
import { createTroupe } from '../../index.ts'
import { isEvent } from '../../kernel/event.ts'

const team = {
  name: 'Line',
  agents: [{ name: 'a' }, { name: 'b', outputs: { score: 'number' } }, { name: 'c' }, { name: 'd' }],
  groups: [{ name: 'both', kind: 'parallel', members: ['c', 'd'] }],
  handoffs: [
    { from_agent: 'a', to_agent: 'b' },
    { from_agent: 'b', to_agent: 'c', condition: 'mood == "good"' },
    { from_agent: 'b', to_agent: 'd', condition: 'mood != "good"' },
  ],
  context_variables: { mood: 'bad' },
  after_work_behavior: 'terminate',
}
const replies: TeamReplies = { a: ['from a'], b: ['from b'], c: ['from c'], d: ['from d'] }

/** Runs the team, and lets a person ask these while the named agent has its turn. */
async function steering(during: string, asks: SteerAction | SteerAction[], whole: unknown = team): Promise<TeamRun> {
  const actions = Array.isArray(asks) ? asks : [asks]
  const model = teamModel(replies)
  let troupe: Troupe | undefined
  let asked = false
  const stream = model.stream.bind(model)
  model.stream = async function* (request, signal) {
    if (troupe && request.session.agent === during && !asked) {
      asked = true
      for (const action of actions) await troupe.steer(request.session.run_id, action)
      await noticed(troupe, request.session.run_id, actions.length)
    }
    yield* stream(request, signal)
  }
  troupe = await createTroupe({ store: 'memory', model })
  return readTeamRun(troupe, model, await troupe.run('team', { team: whole, message: 'Go.' }))
}

async function noticed(troupe: Troupe, run_id: string, count: number): Promise<void> {
  for (;;) {
    const events = await troupe.events(run_id)
    if (events.filter(({ type }) => type === 'run:steer').length >= count) return
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

async function then(scene: TeamRun, action: SteerAction): Promise<TeamRun> {
  const { result } = await scene.troupe.steer(scene.result.run_id, action)
  return readTeamRun(scene.troupe, scene.model, await result)
}

const toldIn = ({ events }: TeamRun) => events.flatMap((event) => (isEvent(event, 'team:steered') ? event.data : []))

describe('people steer a team', () => {
  test('SE6 pause stops before the next turn and holds no worker; continue goes on', async () => {
    const paused = await steering('a', { do: 'pause' })
    expect(paused.result).toMatchObject({ status: 'waiting', gates: [{ detail: { kind: 'pause', before: 'b' } }] })
    expect((await paused.troupe.store.run(paused.result.run_id))?.owner).toBeNull()
    const done = await then(paused, { do: 'continue' })
    expect([done.result.status, done.route]).toEqual(['completed', ['a', 'b', 'd']])
    expect(await done.troupe.replay(done.result.run_id)).toMatchObject({ same: true })
  })

  test('SE6 step goes on for one turn and pauses again', async () => {
    const paused = await steering('a', { do: 'pause' })
    const stepped = await then(paused, { do: 'step' })
    expect([stepped.route, stepped.result.gates[0]?.detail]).toMatchObject([['a', 'b'], { kind: 'pause', before: 'd' }])
    expect((await then(stepped, { do: 'continue' })).route).toEqual(['a', 'b', 'd'])
    const stepping = await steering('a', { do: 'step' })
    expect([stepping.route, stepping.result.status]).toEqual([['a', 'b'], 'waiting'])
  })

  test('SE7 override sends the work to somebody else, a group too; at a pause it is the answer', async () => {
    expect((await steering('a', { do: 'override', agent: 'd' })).route).toEqual(['a', 'd'])
    expect((await steering('a', { do: 'override', agent: 'both' })).route).toEqual(['a', 'both'])
    const paused = await steering('a', { do: 'pause' })
    expect((await then(paused, { do: 'override', agent: 'c' })).route).toEqual(['a', 'c'])
  })

  test('SE7 an override that arrives while the last one works keeps the team from ending', async () => {
    expect((await steering('d', { do: 'override', agent: 'c' })).route).toEqual(['a', 'b', 'd', 'c'])
  })

  test('SE8 a variable that is set decides the next handoff', async () => {
    const scene = await steering('a', { do: 'set', name: 'mood', value: 'good' })
    expect([scene.route, scene.output.variables.mood]).toEqual([['a', 'b', 'c'], 'good'])
    expect(toldIn(scene)).toMatchObject([{ action: { do: 'set' }, by: 'user', accepted: true }])
  })

  test('SE9 a message joins the conversation as the words of the user, before the next turn, in order', async () => {
    const scene = await steering('a', [
      { do: 'say', text: 'Shorter!' },
      { do: 'say', text: '{"from":"b"}' },
    ])
    const [asked] = requestsFrom(scene, 'b')
    expect(asked && conversationFrom(asked).slice(-2)).toEqual([
      { from: 'user', round: 1, text: 'Shorter!' },
      { from: 'user', round: 1, text: '{"from":"b"}' },
    ])
    const late = await steering('d', { do: 'say', text: 'One more thing' })
    expect(late.route).toEqual(['a', 'b', 'd', 'd'])
  })

  test('SE10 who is not there and what cannot be set are refused with what there is', async () => {
    const paused = await steering('a', { do: 'pause' })
    const ask = (action: SteerAction) => paused.troupe.steer(paused.result.run_id, action)
    await expect(ask({ do: 'override', agent: 'bothe' })).rejects.toMatchObject({
      ...{ code: 'unknown_agent', alternatives: expect.arrayContaining(['both']), hint: "did you mean 'both'?" },
    })
    await expect(ask({ do: 'set', name: 'moods', value: 'x' })).rejects.toMatchObject({ hint: "did you mean 'mood'?" })
    await expect(ask({ do: 'set', name: 'mood', value: 1 })).rejects.toThrow(/'mood' is a string, not the number 1/)
    await expect(ask({ do: 'set', name: 'round', value: 1 })).rejects.toThrow(/set by Troupe itself/)
    expect((await paused.troupe.result(paused.result.run_id)).status).toBe('waiting')
  })

  test('SE10 what was written past the check is told as refused, and changes nothing', async () => {
    const paused = await steering('a', { do: 'pause' })
    const { troupe, result } = paused
    const body = { kind: 'steer' as const, action: { do: 'override' as const, agent: 'nobody' }, by: 'eve' }
    await troupe.store.enqueueCommand(result.run_id, body, 1)
    const done = await then(paused, { do: 'continue' })
    expect(done.route).toEqual(['a', 'b', 'd'])
    expect(toldIn(done).at(-1)).toMatchObject({
      accepted: false,
      by: 'eve',
      reason: expect.stringContaining("'nobody'"),
    })
  })

  test('SE12 a pause waits for a turn to pause before: past a question to the user, and behind what they say', async () => {
    const asking = {
      ...team,
      handoffs: [{ from_agent: 'a', to_agent: 'user', condition: 'round == 1' }, ...team.handoffs],
    }
    const asked = await steering('a', { do: 'pause' }, asking)
    expect(asked.result.gates[0]?.detail).toMatchObject({ kind: 'reply' })
    const paused = await answerQuestion(asked, 'go on')
    expect([paused.route, paused.result.gates[0]?.detail]).toMatchObject([['a'], { kind: 'pause', before: 'a' }])
    const done = await then(paused, { do: 'continue' })
    expect([done.result.status, done.route]).toEqual(['completed', ['a', 'a', 'b', 'd']])
    expect(await done.troupe.replay(done.result.run_id)).toMatchObject({ same: true })

    const late = await steering('d', [{ do: 'say', text: 'One more thing' }, { do: 'pause' }])
    expect([late.route, late.result.gates[0]?.detail]).toMatchObject([['a', 'b', 'd'], { kind: 'pause', before: 'd' }])
    expect((await then(late, { do: 'continue' })).route).toEqual(['a', 'b', 'd', 'd'])
  })

  test('SE12 a step whose turn returns to the user pauses before the next one', async () => {
    const asking = {
      ...team,
      handoffs: [
        { from_agent: 'a', to_agent: 'b' },
        { from_agent: 'b', to_agent: 'user', condition: 'round == 2' },
      ],
    }
    const asked = await steering('a', { do: 'step' }, asking)
    expect([asked.route, asked.result.gates[0]?.detail]).toMatchObject([['a', 'b'], { kind: 'reply' }])
    expect((await answerQuestion(asked, 'go on')).result.gates[0]?.detail).toMatchObject({ kind: 'pause', before: 'b' })
  })

  test('SE12 where the team ends there is nothing to pause: that is told, and not as taken', async () => {
    const scene = await steering('d', [{ do: 'pause' }, { do: 'step' }, { do: 'set', name: 'mood', value: 'x' }])
    expect(scene.result.status).toBe('completed')
    expect(toldIn(scene).map(({ accepted, reason }) => [accepted, reason])).toEqual([
      [false, 'the team has ended'],
      [false, 'the team has ended'],
      [true, undefined],
    ])
  })

  test('SE14 what is asked of a team is no answer to a question from within: it is taken when that is answered', async () => {
    const within = {
      ...{ name: 'I', agents: [{ name: 'a' }, { name: 'b' }], after_work_behavior: 'terminate' },
      handoffs: [{ from_agent: 'a', to_agent: 'b', approve: true }],
    }
    const outer = {
      ...{ name: 'O', agents: [{ name: 'sub', team: within }, { name: 'c' }, { name: 'd' }] },
      ...{ handoffs: [{ from_agent: 'sub', to_agent: 'c' }], after_work_behavior: 'terminate' },
    }
    const asked = await runTeam(outer, replies)
    const { troupe, result } = asked
    expect(result.gates).toMatchObject([{ detail: { kind: 'approve', to: 'b' } }])
    await troupe.steer(result.run_id, { do: 'override', agent: 'd' })
    await troupe.steer(result.run_id, { do: 'continue' })
    expect((await troupe.result(result.run_id)).gates).toMatchObject([{ gate_id: result.gates[0]?.gate_id }])
    const done = await answerQuestion(asked, 'yes')
    expect(done.route.filter((name) => !['a', 'b'].includes(name))).toEqual(['sub', 'd'])
    expect(toldIn(done)).toMatchObject([{ action: { do: 'override' }, accepted: true }, { action: { do: 'continue' } }])
  })

  test('SE14 continue approves nothing: a handoff that waits for approval is approved by an answer', async () => {
    const guarded = { ...team, handoffs: [{ from_agent: 'a', to_agent: 'b', approve: true }] }
    const asked = await runTeam(guarded, replies)
    const { troupe, result } = asked
    await troupe.steer(result.run_id, { do: 'continue' })
    expect(await troupe.result(result.run_id)).toMatchObject({ status: 'waiting', gates: [{ detail: { to: 'b' } }] })
    const chosen = await then(asked, { do: 'override', agent: 'c' })
    expect(chosen.route).toEqual(['a', 'c'])
  })

  test('SE16 words that could answer two persons answer neither: the questions are listed', async () => {
    const people = {
      ...{ name: 'P', entry: 'g', after_work_behavior: 'terminate' },
      agents: [
        { name: 'h1', kind: 'human' },
        { name: 'h2', kind: 'human' },
      ],
      groups: [{ name: 'g', kind: 'parallel', members: ['h1', 'h2'] }],
    }
    const asked = await runTeam(people, {})
    const gates = asked.result.gates.map(({ gate_id }) => gate_id)
    await expect(asked.troupe.steer(asked.result.run_id, { do: 'say', text: 'me?' })).rejects.toMatchObject({
      ...{ code: 'invalid_input', message: "'say' could answer 2 questions", alternatives: gates },
      hint: expect.stringMatching(/to h1: .*to h2: /),
    })
    expect((await asked.troupe.result(asked.result.run_id)).gates).toHaveLength(2)
    const one = await (await asked.troupe.answer(gates[0] ?? '', 'one')).result
    const { result } = await asked.troupe.steer(one.run_id, { do: 'say', text: 'two' })
    expect((await result).output).toMatchObject({ response: 'one\n\ntwo' })
  })

  test('SE6 an answer that cannot be read at a pause is asked for again', async () => {
    const paused = await steering('a', { do: 'pause' })
    const [gate] = paused.result.gates
    const again = await (await paused.troupe.answer(gate?.gate_id ?? '', 'whatever')).result
    expect(again.gates[0]?.question).toMatch(/"whatever" is no answer here/)
    const done = await (await paused.troupe.answer(again.gates[0]?.gate_id ?? '', 'continue')).result
    expect(done.status).toBe('completed')
  })
})
