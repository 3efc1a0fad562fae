import { describe, expect, test } from 'vitest'
import { handoffsFrom, replyWithVerdicts, routerVerdicts, runTeam } from '../../../test/support/team-harness.ts'

const broken = () => Object.assign(new Error('broke'), { status: 404 })

const trio = {
  name: 'Trio',
  agents: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
  handoffs: [{ from_agent: 'a', to_agent: 'b' }],
  after_work_behavior: 'terminate',
}

describe('previous_agent', () => {
  const back = (agents: string[], more: object) => ({
    ...{ name: 'Back', agents: agents.map((name) => ({ name })), after_work_behavior: 'terminate', ...more },
  })

  test('TM16 members of a group have no turn of their own', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['x', 'y'] }]
    const handoffs = [
      { from_agent: 'w', to_agent: 'g', condition: 'iteration_count < 2' },
      { from_agent: 'g', to_agent: 'previous_agent' },
    ]
    const scene = await runTeam(back(['w', 'x', 'y'], { groups, handoffs }), { w: ['W'], x: ['X'], y: ['Y'] })
    expect(scene.route).toEqual(['w', 'g', 'w'])
  })

  test('TM16 a group in which one failed and that went on is who spoke before', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['x', 'y'] }]
    const handoffs = [
      { from_agent: 'g', to_agent: 'w' },
      { from_agent: 'w', to_agent: 'previous_agent', condition: 'iteration_count < 2' },
    ]
    const team = back(['w', 'x', 'y'], { entry: 'g', groups, handoffs })
    const scene = await runTeam(team, { w: ['W'], x: (n) => (n === 1 ? broken() : 'X'), y: ['Y'] })
    expect(scene.route).toEqual(['g', 'w', 'g', 'w'])
  })

  test('TM16 once the handler has passed the work on, the failure is past', async () => {
    const handoffs = [
      { from_agent: 'importer', to_agent: 'handler', condition: 'error detected' },
      { from_agent: 'handler', to_agent: 'fallback' },
      { from_agent: 'fallback', to_agent: 'reviewer', condition: 'iteration_count < 2' },
      { from_agent: 'reviewer', to_agent: 'previous_agent', condition: 'iteration_count < 2' },
    ]
    const team = back(['importer', 'handler', 'fallback', 'reviewer'], { handoffs })
    const replies = { importer: [broken()], handler: ['h'], fallback: ['f'], reviewer: ['r'] }
    const scene = await runTeam(team, replies)
    expect(scene.route).toEqual(['importer', 'handler', 'fallback', 'reviewer', 'fallback'])
  })
})

describe('groups', () => {
  const pair = {
    ...trio,
    entry: 'g',
    agents: [{ name: 'a', outputs: { v: 'number' } }, { name: 'b', outputs: { v: 'number' } }, { name: 'c' }],
    groups: [{ name: 'g', kind: 'parallel', members: ['a', 'b'] }],
  }

  test('TM11 one who did not judge a sentence has not agreed to it: a model is asked', async () => {
    const handoffs = [{ from_agent: 'g', to_agent: 'c', condition: 'it is done' }]
    const router = routerVerdicts({ 'it is done': false })
    const alone = await runTeam(
      { ...pair, handoffs },
      { a: [replyWithVerdicts('yes', true)], b: ['no, far from it'], router },
    )
    expect([alone.route, alone.output.totals.router_calls]).toEqual([['g'], 1])
    const both = await runTeam(
      { ...pair, handoffs },
      { a: [replyWithVerdicts('yes', true)], b: [replyWithVerdicts('yes', true)], c: ['C'] },
    )
    expect([both.route, both.output.totals.router_calls]).toEqual([['g', 'c'], 0])
  })

  test('TM35 members who set one variable to different values are reported; the last one counts', async () => {
    const set = (value: number) => ({ response: 'x', variables: [{ name: 'v', value }] })
    const scene = await runTeam({ ...pair, handoffs: [] }, { a: [set(1)], b: [set(2)] })
    expect(scene.output.variables).toEqual({ v: 2 })
    expect(handoffsFrom(scene.events)[0]?.problems).toEqual(["a set 'v' to 1, b to 2: 2 counts"])
  })
})
