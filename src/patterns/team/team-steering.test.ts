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
import { createTroupeWithStore, storeOf } from '../../../test/support/test-troupe.ts'
import type { SteerAction, Troupe } from '../../index.ts'
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

/** Runs the team and sends the actions while the named agent has its turn. */
async function runSteered(
  during: string,
  action: SteerAction | SteerAction[],
  steeredTeam: unknown = team,
): Promise<TeamRun> {
  const actions = Array.isArray(action) ? action : [action]
  const model = teamModel(replies)
  let troupe: Troupe | undefined
  let sent = false
  const stream = model.stream.bind(model)
  model.stream = async function* (request, signal) {
    if (troupe && request.session.agent === during && !sent) {
      sent = true
      for (const each of actions) await troupe.steer(request.session.run_id, each)
      await waitForSteerEvents(troupe, request.session.run_id, actions.length)
    }
    yield* stream(request, signal)
  }
  troupe = await createTroupeWithStore({ store: 'memory', model })
  return readTeamRun(troupe, model, await troupe.run('team' as string, { team: steeredTeam, message: 'Go.' }))
}

async function waitForSteerEvents(troupe: Troupe, run_id: string, count: number): Promise<void> {
  for (;;) {
    const events = await troupe.events(run_id).all()
    if (events.filter(({ type }) => type === 'run:steer').length >= count) return
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

async function steerAndRead(run: TeamRun, action: SteerAction): Promise<TeamRun> {
  const { result } = await run.troupe.steer(run.result.run_id, action)
  return readTeamRun(run.troupe, run.model, await result)
}

const steeredEvents = ({ events }: TeamRun) =>
  events.flatMap((event) => (isEvent(event, 'team:steered') ? event.data : []))

describe('steering a team', () => {
  test('SE6 pause stops before the next turn and releases the run; continue resumes it', async () => {
    const paused = await runSteered('a', { do: 'pause' })
    expect(paused.result).toMatchObject({ status: 'waiting', gates: [{ detail: { kind: 'pause', before: 'b' } }] })
    expect((await storeOf(paused.troupe).run(paused.result.run_id))?.owner).toBeNull()
    const done = await steerAndRead(paused, { do: 'continue' })
    expect([done.result.status, done.route]).toEqual(['completed', ['a', 'b', 'd']])
    expect(await done.troupe.replay(done.result.run_id)).toMatchObject({ same: true })
  })

  test('SE6 step runs one turn and pauses again', async () => {
    const paused = await runSteered('a', { do: 'pause' })
    const stepped = await steerAndRead(paused, { do: 'step' })
    expect([stepped.route, stepped.result.gates[0]?.detail]).toMatchObject([['a', 'b'], { kind: 'pause', before: 'd' }])
    expect((await steerAndRead(stepped, { do: 'continue' })).route).toEqual(['a', 'b', 'd'])
    const stepping = await runSteered('a', { do: 'step' })
    expect([stepping.route, stepping.result.status]).toEqual([['a', 'b'], 'waiting'])
  })

  test('SE7 override changes the next agent or group, including as the answer to a pause', async () => {
    expect((await runSteered('a', { do: 'override', agent: 'd' })).route).toEqual(['a', 'd'])
    expect((await runSteered('a', { do: 'override', agent: 'both' })).route).toEqual(['a', 'both'])
    const paused = await runSteered('a', { do: 'pause' })
    expect((await steerAndRead(paused, { do: 'override', agent: 'c' })).route).toEqual(['a', 'c'])
  })

  test('SE7 an override during the last turn continues the team', async () => {
    expect((await runSteered('d', { do: 'override', agent: 'c' })).route).toEqual(['a', 'b', 'd', 'c'])
  })

  test('SE8 set changes a variable before the next handoff', async () => {
    const run = await runSteered('a', { do: 'set', name: 'mood', value: 'good' })
    expect([run.route, run.output.variables.mood]).toEqual([['a', 'b', 'c'], 'good'])
    expect(steeredEvents(run)).toMatchObject([{ action: { do: 'set' }, by: 'user', accepted: true }])
  })

  test('SE9 say adds user messages to the conversation before the next turn, in order', async () => {
    const run = await runSteered('a', [
      { do: 'say', text: 'Shorter!' },
      { do: 'say', text: '{"from":"b"}' },
    ])
    const [request] = requestsFrom(run, 'b')
    expect(request && conversationFrom(request).slice(-2)).toEqual([
      { from: 'user', round: 1, text: 'Shorter!' },
      { from: 'user', round: 1, text: '{"from":"b"}' },
    ])
    const late = await runSteered('d', { do: 'say', text: 'One more thing' })
    expect(late.route).toEqual(['a', 'b', 'd', 'd'])
  })

  test('SE10 unknown agents and variables that cannot be set are rejected with alternatives', async () => {
    const paused = await runSteered('a', { do: 'pause' })
    const steer = (action: SteerAction) => paused.troupe.steer(paused.result.run_id, action)
    await expect(steer({ do: 'override', agent: 'bothe' })).rejects.toMatchObject({
      ...{ code: 'unknown_agent', alternatives: expect.arrayContaining(['both']), hint: "did you mean 'both'?" },
    })
    await expect(steer({ do: 'set', name: 'moods', value: 'x' })).rejects.toMatchObject({
      hint: "did you mean 'mood'?",
    })
    await expect(steer({ do: 'set', name: 'mood', value: 1 })).rejects.toThrow(/'mood' is a string, not the number 1/)
    await expect(steer({ do: 'set', name: 'round', value: 1 })).rejects.toThrow(/is a system variable/)
    expect((await paused.troupe.result(paused.result.run_id)).status).toBe('waiting')
  })

  test('SE10 an invalid command written to the store is reported as rejected', async () => {
    const paused = await runSteered('a', { do: 'pause' })
    const { troupe, result } = paused
    const body = { kind: 'steer' as const, action: { do: 'override' as const, agent: 'nobody' }, by: 'eve' }
    await storeOf(troupe).enqueueCommand(result.run_id, body, 1)
    const done = await steerAndRead(paused, { do: 'continue' })
    expect(done.route).toEqual(['a', 'b', 'd'])
    expect(steeredEvents(done).at(-1)).toMatchObject({
      accepted: false,
      by: 'eve',
      reason: expect.stringContaining("'nobody'"),
    })
  })

  test('SE12 a pause takes effect before the next turn, after questions to the user and user messages', async () => {
    const askingTeam = {
      ...team,
      handoffs: [{ from_agent: 'a', to_agent: 'user', condition: 'round == 1' }, ...team.handoffs],
    }
    const waiting = await runSteered('a', { do: 'pause' }, askingTeam)
    expect(waiting.result.gates[0]?.detail).toMatchObject({ kind: 'reply' })
    const paused = await answerQuestion(waiting, 'continue please')
    expect([paused.route, paused.result.gates[0]?.detail]).toMatchObject([['a'], { kind: 'pause', before: 'a' }])
    const done = await steerAndRead(paused, { do: 'continue' })
    expect([done.result.status, done.route]).toEqual(['completed', ['a', 'a', 'b', 'd']])
    expect(await done.troupe.replay(done.result.run_id)).toMatchObject({ same: true })

    const late = await runSteered('d', [{ do: 'say', text: 'One more thing' }, { do: 'pause' }])
    expect([late.route, late.result.gates[0]?.detail]).toMatchObject([['a', 'b', 'd'], { kind: 'pause', before: 'd' }])
    expect((await steerAndRead(late, { do: 'continue' })).route).toEqual(['a', 'b', 'd', 'd'])
  })

  test('SE12 a step whose turn returns to the user pauses before the next turn', async () => {
    const askingTeam = {
      ...team,
      handoffs: [
        { from_agent: 'a', to_agent: 'b' },
        { from_agent: 'b', to_agent: 'user', condition: 'round == 2' },
      ],
    }
    const waiting = await runSteered('a', { do: 'step' }, askingTeam)
    expect([waiting.route, waiting.result.gates[0]?.detail]).toMatchObject([['a', 'b'], { kind: 'reply' }])
    expect((await answerQuestion(waiting, 'continue please')).result.gates[0]?.detail).toMatchObject({
      kind: 'pause',
      before: 'b',
    })
  })

  test('SE12 pause and step at the end of a team are reported as rejected', async () => {
    const run = await runSteered('d', [{ do: 'pause' }, { do: 'step' }, { do: 'set', name: 'mood', value: 'x' }])
    expect(run.result.status).toBe('completed')
    expect(steeredEvents(run).map(({ accepted, reason }) => [accepted, reason])).toEqual([
      [false, 'the team has ended'],
      [false, 'the team has ended'],
      [true, undefined],
    ])
  })

  test('SE14 steering does not answer a question of a sub-team; it applies after the answer', async () => {
    const subTeam = {
      ...{ name: 'I', agents: [{ name: 'a' }, { name: 'b' }], after_work_behavior: 'terminate' },
      handoffs: [{ from_agent: 'a', to_agent: 'b', approve: true }],
    }
    const outer = {
      ...{ name: 'O', agents: [{ name: 'sub', team: subTeam }, { name: 'c' }, { name: 'd' }] },
      ...{ handoffs: [{ from_agent: 'sub', to_agent: 'c' }], after_work_behavior: 'terminate' },
    }
    const waiting = await runTeam(outer, replies)
    const { troupe, result } = waiting
    expect(result.gates).toMatchObject([{ detail: { kind: 'approve', to: 'b' } }])
    await troupe.steer(result.run_id, { do: 'override', agent: 'd' })
    await troupe.steer(result.run_id, { do: 'continue' })
    expect((await troupe.result(result.run_id)).gates).toMatchObject([{ gate_id: result.gates[0]?.gate_id }])
    const done = await answerQuestion(waiting, 'yes')
    expect(done.route.filter((name) => !['a', 'b'].includes(name))).toEqual(['sub', 'd'])
    expect(steeredEvents(done)).toMatchObject([
      { action: { do: 'override' }, accepted: true },
      { action: { do: 'continue' } },
    ])
  })

  test('SE14 continue does not approve a handoff', async () => {
    const withApproval = { ...team, handoffs: [{ from_agent: 'a', to_agent: 'b', approve: true }] }
    const waiting = await runTeam(withApproval, replies)
    const { troupe, result } = waiting
    await troupe.steer(result.run_id, { do: 'continue' })
    expect(await troupe.result(result.run_id)).toMatchObject({ status: 'waiting', gates: [{ detail: { to: 'b' } }] })
    const chosen = await steerAndRead(waiting, { do: 'override', agent: 'c' })
    expect(chosen.route).toEqual(['a', 'c'])
  })

  test('SE16 say is rejected with a list of gates when several questions accept it', async () => {
    const humans = {
      ...{ name: 'P', entry: 'g', after_work_behavior: 'terminate' },
      agents: [
        { name: 'h1', kind: 'human' },
        { name: 'h2', kind: 'human' },
      ],
      groups: [{ name: 'g', kind: 'parallel', members: ['h1', 'h2'] }],
    }
    const waiting = await runTeam(humans, {})
    const gates = waiting.result.gates.map(({ gate_id }) => gate_id)
    await expect(waiting.troupe.steer(waiting.result.run_id, { do: 'say', text: 'me?' })).rejects.toMatchObject({
      ...{ code: 'invalid_input', message: "'say' could answer 2 questions", alternatives: gates },
      hint: expect.stringMatching(/to h1: .*to h2: /),
    })
    expect((await waiting.troupe.result(waiting.result.run_id)).gates).toHaveLength(2)
    const one = await (await waiting.troupe.answer(gates[0] ?? '', 'one')).result
    const { result } = await waiting.troupe.steer(one.run_id, { do: 'say', text: 'two' })
    expect((await result).output).toMatchObject({ response: 'one\n\ntwo' })
  })

  test('SE6 an invalid answer to a pause is asked again', async () => {
    const paused = await runSteered('a', { do: 'pause' })
    const [gate] = paused.result.gates
    const again = await (await paused.troupe.answer(gate?.gate_id ?? '', 'whatever')).result
    expect(again.gates[0]?.question).toMatch(/"whatever" is not a valid answer/)
    const done = await (await paused.troupe.answer(again.gates[0]?.gate_id ?? '', 'continue')).result
    expect(done.status).toBe('completed')
  })
})
