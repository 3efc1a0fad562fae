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
  const teamOf = (agents: string[], more: object) => ({
    ...{ name: 'Back', agents: agents.map((name) => ({ name })), after_work_behavior: 'terminate', ...more },
  })

  test('TM16 previous_agent skips members of a group', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['x', 'y'] }]
    const handoffs = [
      { from_agent: 'w', to_agent: 'g', condition: 'iteration_count < 2' },
      { from_agent: 'g', to_agent: 'previous_agent' },
    ]
    const run = await runTeam(teamOf(['w', 'x', 'y'], { groups, handoffs }), { w: ['W'], x: ['X'], y: ['Y'] })
    expect(run.route).toEqual(['w', 'g', 'w'])
  })

  test('TM16 a group with a failed member can be the previous agent', async () => {
    const groups = [{ name: 'g', kind: 'parallel', members: ['x', 'y'] }]
    const handoffs = [
      { from_agent: 'g', to_agent: 'w' },
      { from_agent: 'w', to_agent: 'previous_agent', condition: 'iteration_count < 2' },
    ]
    const team = teamOf(['w', 'x', 'y'], { entry: 'g', groups, handoffs })
    const run = await runTeam(team, { w: ['W'], x: (n) => (n < 3 ? '' : 'X'), y: ['Y'] })
    expect(run.route).toEqual(['g', 'w', 'g', 'w'])
  })

  test('TM16 the failure is resolved once the handler has handed off', async () => {
    const handoffs = [
      { from_agent: 'importer', to_agent: 'handler', condition: 'error detected' },
      { from_agent: 'handler', to_agent: 'fallback' },
      { from_agent: 'fallback', to_agent: 'reviewer', condition: 'iteration_count < 2' },
      { from_agent: 'reviewer', to_agent: 'previous_agent', condition: 'iteration_count < 2' },
    ]
    const team = teamOf(['importer', 'handler', 'fallback', 'reviewer'], { handoffs })
    const replies = { importer: [broken()], handler: ['h'], fallback: ['f'], reviewer: ['r'] }
    const run = await runTeam(team, replies)
    expect(run.route).toEqual(['importer', 'handler', 'fallback', 'reviewer', 'fallback'])
  })
})

describe('groups', () => {
  const pair = {
    ...trio,
    entry: 'g',
    agents: [{ name: 'a', outputs: { v: 'number' } }, { name: 'b', outputs: { v: 'number' } }, { name: 'c' }],
    groups: [{ name: 'g', kind: 'parallel', members: ['a', 'b'] }],
  }

  test('TM11 a member without a verdict does not agree, so the router is asked', async () => {
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

  test('TM35 conflicting variable values in a group are reported, and the last one is used', async () => {
    const set = (value: number) => ({ response: 'x', variables: [{ name: 'v', value }] })
    const run = await runTeam({ ...pair, handoffs: [] }, { a: [set(1)], b: [set(2)] })
    expect(run.output.variables).toEqual({ v: 2 })
    expect(handoffsFrom(run.events)[0]?.problems).toEqual(["a set 'v' to 1, b to 2; 2 is used"])
  })
})
