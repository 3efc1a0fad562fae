import { describe, expect, test } from 'vitest'
import { agentModel } from '../../../test/support/collaboration.ts'
import {
  answerQuestion,
  conversationFrom,
  handoffsFrom,
  readTeamRun,
  replyWithVerdicts,
  requestsFrom,
  routerVerdicts,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import { agent, createTroupeWithStore, runToEnd } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../index.ts'

const broken = () => Object.assign(new Error('the provider is down'), { status: 404 })

const team = {
  name: 'Careful',
  agents: [
    { name: 'researcher' },
    { name: 'writer' },
    { name: 'publisher' },
    { name: 'error_handler' },
    { name: 'supervisor', kind: 'human' },
  ],
  handoffs: [
    { from_agent: 'researcher', to_agent: 'writer' },
    { from_agent: 'writer', to_agent: 'publisher' },
    {
      from_agent: 'any_agent',
      to_agent: 'error_handler',
      condition: 'error detected or quality issues found',
      priority: 10,
    },
    { from_agent: 'error_handler', to_agent: 'previous_agent', condition: 'error resolved and retry possible' },
    { from_agent: 'error_handler', to_agent: 'supervisor', condition: 'error requires human intervention' },
    { from_agent: 'supervisor', to_agent: 'previous_agent' },
  ],
  after_work_behavior: 'terminate',
}
const succeeding = { researcher: [replyWithVerdicts('facts', false)], publisher: [replyWithVerdicts('out', false)] }

describe('a failed turn', () => {
  test('TM15 rules with error_detected handle a failed turn, and previous_agent is the failed agent', async () => {
    const run = await runTeam(team, {
      ...succeeding,
      writer: (turn) => (turn === 1 ? broken() : replyWithVerdicts('draft', false)),
      error_handler: [replyWithVerdicts('Put right.', true, true, false)],
    })
    expect(run.result.status).toBe('completed')
    expect(run.route).toEqual(['researcher', 'writer', 'error_handler', 'writer', 'publisher'])
    expect(handoffsFrom(run.events)[1]).toMatchObject({ from: 'writer', to: 'error_handler', by: 'exact' })
    const [request] = requestsFrom(run, 'error_handler')
    expect(request && conversationFrom(request).at(-1)).toMatchObject({
      from: 'writer',
      error: expect.stringContaining('the provider is down'),
    })
    expect(run.output.totals.router_calls).toBe(0)
  })

  test('TM16 after an error handler and a person, previous_agent is still the failed agent', async () => {
    const waiting = await runTeam(team, {
      ...succeeding,
      writer: (turn) => (turn === 1 ? broken() : replyWithVerdicts('draft', false)),
      error_handler: [replyWithVerdicts('Too hard.', false, false, true)],
      router: routerVerdicts({ 'quality issues found': false }),
    })
    expect(waiting.result.gates[0]).toMatchObject({ question: 'Too hard.', detail: { as: 'supervisor' } })
    const run = await answerQuestion(waiting, 'Try again')
    expect(run.route).toEqual(['researcher', 'writer', 'error_handler', 'supervisor', 'writer', 'publisher'])
  })

  test('TM16 previous_agent is the agent of the previous turn; without one the rule is reported and skipped', async () => {
    const back = {
      name: 'Back',
      agents: [{ name: 'a' }, { name: 'b' }],
      handoffs: [
        { from_agent: 'a', to_agent: 'previous_agent', condition: 'iteration_count < 2' },
        { from_agent: 'a', to_agent: 'b', condition: 'iteration_count < 2', priority: 0 },
        { from_agent: 'b', to_agent: 'previous_agent' },
      ],
      after_work_behavior: 'terminate',
    }
    const run = await runTeam(back, { a: ['1', '2'], b: ['3'] })
    expect(run.route).toEqual(['a', 'b', 'a'])
    expect(handoffsFrom(run.events)[0]?.problems?.[0]).toMatch(/no agent had a turn before a/)
  })

  test('TM15 without such a rule the team fails, keeps its output, and resume repeats the turn', async () => {
    const plain = { ...team, handoffs: team.handoffs.slice(0, 2), agents: team.agents.slice(0, 3) }
    const replies = {
      researcher: ['facts'],
      writer: (turn: number) => (turn === 1 ? broken() : 'draft'),
      publisher: ['out'],
    }
    const failed = await runTeam(plain, replies)
    expect(failed.result).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/^writer, round 2: .*down/) },
    })
    expect(failed.output).toMatchObject({ status: 'failed', reason: 'failed', agent: 'writer', rounds: 2 })
    expect(failed.output.history.map(({ agent_name, error }) => [agent_name, error !== undefined])).toEqual([
      ...[
        ['user', false],
        ['researcher', false],
        ['writer', true],
      ],
    ])
    expect(failed.output.response).toBe('facts')
    const handle = await failed.troupe.resume(failed.result.run_id)
    const done = await readTeamRun(failed.troupe, failed.model, await handle.result)
    expect([done.result.status, done.output.response]).toEqual(['completed', 'out'])
    expect(requestsFrom(done, 'researcher')).toHaveLength(1)
    expect(done.route).toEqual(['researcher', 'writer', 'publisher'])
    expect(handoffsFrom(done.events).map(({ to }) => to)).toEqual(['writer', 'publisher', null])
  })

  test('TM15 rules without error_detected do not apply to a failed turn, and the router is not asked', async () => {
    const handoffs = [
      { from_agent: 'writer', to_agent: 'publisher' },
      { from_agent: 'writer', to_agent: 'error_handler', condition: 'the draft is good' },
    ]
    const run = await runTeam({ ...team, entry: 'writer', handoffs }, { writer: [broken()] })
    expect([run.result.status, run.route]).toEqual(['failed', ['writer']])
    expect(requestsFrom(run, 'router')).toHaveLength(0)
  })

  test('TM15 a router failure fails the team, and resume asks the router again', async () => {
    const two = {
      name: 'Two',
      agents: [{ name: 'a' }, { name: 'b' }],
      handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'it is done' }],
      after_work_behavior: 'terminate',
    }
    const router = (turn: number) =>
      turn === 1 ? broken() : ({ verdicts: [{ condition: 1, holds: true }] } as unknown as string)
    const failed = await runTeam(two, { a: ['words'], b: ['end'], router })
    expect(failed.result.status).toBe('failed')
    const handle = await failed.troupe.resume(failed.result.run_id)
    const done = await readTeamRun(failed.troupe, failed.model, await handle.result)
    expect([done.route, requestsFrom(done, 'a').length]).toEqual([['a', 'b'], 1])
  })

  test('TM15 a reached limit is named, keeps the output, and a higher limit resumes the team', async () => {
    const names = ['a', 'b', 'c', 'd']
    const chain = {
      name: 'Chain',
      agents: names.map((name) => ({ name })),
      handoffs: [
        ...names.slice(1).map((to_agent, n) => ({ from_agent: names[n] ?? '', to_agent })),
        { from_agent: 'any_agent', to_agent: 'a', condition: 'error detected', priority: 9 },
      ],
      after_work_behavior: 'terminate',
    }
    const replies = Object.fromEntries(names.map((name) => [name, [`from ${name}`]]))
    const stopped = await runTeam(chain, replies, { limits: { calls: 2 } })
    expect(stopped.result).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { code: 'limit_reached' } })
    expect(stopped.result.error?.message).toMatch(/calls/)
    expect(stopped.output.history.map(({ agent_name }) => agent_name)).toEqual(['user', 'a', 'b', 'c'])
    const handle = await stopped.troupe.resume(stopped.result.run_id, { limits: { calls: 10 } })
    const done = await readTeamRun(stopped.troupe, stopped.model, await handle.result)
    expect([done.result.status, done.route]).toEqual(['completed', names])
  })

  test('TM15 a handled timeout is not repeated when the run is resumed after another failure', async () => {
    const slow = agent('slow', { timeout_ms: 1 })
    const careful = {
      name: 'Cut',
      agents: [{ name: 'first', uses: 'slow' }, { name: 'handler' }, { name: 'last' }],
      handoffs: [
        { from_agent: 'first', to_agent: 'handler', condition: 'error detected' },
        { from_agent: 'handler', to_agent: 'last' },
      ],
      after_work_behavior: 'terminate',
    }
    const model = teamModel({ first: ['late'], handler: ['handled'], last: (turn) => (turn === 1 ? broken() : 'end') })
    const stream = model.stream.bind(model)
    model.stream = async function* (request, signal) {
      if (request.session.agent === 'first') await new Promise((_, reject) => signal.addEventListener('abort', reject))
      yield* stream(request, signal)
    }
    const troupe = await createTroupe({ store: 'memory', model, agents: [slow] })
    const failed = await runToEnd(troupe, 'team' as string, { team: careful, message: 'Go.' })
    expect(failed.error?.message).toMatch(/^last, round 3/)
    const done = await readTeamRun(troupe, model, await (await troupe.resume(failed.run_id)).result)
    expect([done.result.status, done.route]).toEqual(['completed', ['first', 'handler', 'last']])
    const modelCalls = done.events.filter(
      (event) => event.type === 'model:begin' && event.session_id?.endsWith('_first'),
    )
    expect(modelCalls).toHaveLength(1)
  })

  test('TM15 a cancelled team ends as cancelled', async () => {
    const waiting = await runTeam({ name: 'One', agents: [{ name: 'a' }] }, { a: ['Well?'] })
    const result = await waiting.troupe.cancel(waiting.result.run_id, 'enough')
    expect([result.status, result.stop_reason]).toEqual(['cancelled', 'cancelled'])
    expect(result.output).toMatchObject({ response: 'Well?', agent: 'a', status: 'cancelled', rounds: 1 })
    expect((result.output as { history: unknown[] }).history).toHaveLength(2)
  })

  test('TM60 a team cancelled during a group keeps the answers of earlier rounds', async () => {
    const pair = {
      name: 'Pair',
      agents: [{ name: 'first' }, { name: 'left' }, { name: 'right' }],
      groups: [{ name: 'both', kind: 'parallel', members: ['left', 'right'] }],
      handoffs: [{ from_agent: 'first', to_agent: 'both', condition: 'round >= 1' }],
      after_work_behavior: 'terminate',
    }
    const reached = Promise.withResolvers<void>()
    const model = agentModel({
      first: 'The plan.',
      left: 'Left is done.',
      right: () => {
        reached.resolve()
        return new Promise<never>(() => {}) as never
      },
    })
    const troupe = await createTroupeWithStore({ store: 'memory', model })
    const handle = await troupe.stream('team' as string, { team: pair, message: 'Go.' })
    await reached.promise
    const result = await troupe.cancel(handle.run_id, 'enough')
    expect(result).toMatchObject({ status: 'cancelled', output: { response: 'Left is done.', status: 'cancelled' } })
  })
})
