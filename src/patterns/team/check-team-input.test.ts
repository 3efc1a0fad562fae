import { describe, expect, test } from 'vitest'
import { routerVerdicts, runTeam } from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'

const validTeam = {
  name: 'Good',
  agents: [{ name: 'writer', outputs: { score: 'number' } }, { name: 'reviewer' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'score > {{ least }} and urgent' }],
  context_variables: { least: 3 },
}

describe('a team that cannot run is rejected before the first model request', () => {
  const expectRejection = (team: unknown, options = {}) => expect(runTeam(team, {}, options)).rejects

  test('TM22 an empty team, an unknown name and a handoff to itself are rejected', async () => {
    await expectRejection({ name: 'Empty', agents: [] }).toThrow(/the team is empty/)
    const unknownTarget = { ...validTeam, handoffs: [{ from_agent: 'writer', to_agent: 'reviewr' }] }
    await expectRejection(unknownTarget).toMatchObject({ code: 'invalid_input', hint: "did you mean 'reviewer'?" })
    await expectRejection({ ...validTeam, handoffs: [{ from_agent: 'writer', to_agent: 'writer' }] }).toThrow(
      /cannot hand off to itself/,
    )
    await expectRejection({ ...validTeam, entry: 'boss' }).toThrow(/no agent or group 'boss'/)
    await expectRejection({ ...validTeam, agents: [{ name: 'writer', uses: 'nobody' }, { name: 'reviewer' }] }).toThrow(
      /in the roster/,
    )
  })

  test('TM22 an invalid condition, an unknown field and an invalid value are rejected', async () => {
    await expectRejection({ ...validTeam, handoffs: [{ ...validTeam.handoffs[0], condition: 'score > ' }] }).toThrow(
      /handoffs\[0\]\.condition/,
    )
    await expectRejection({ ...validTeam, colour: 'blue' }).toThrow(/colour/)
    await expectRejection({ ...validTeam, context_variables: { least: [3] } }).toThrow(/context_variables/)
  })

  test('TM22 a variable of the wrong type, an unknown one and a system variable are rejected', async () => {
    await expectRejection(validTeam, { variables: { least: 'three' } }).toThrow(
      /'least' is a number, not the string "three"/,
    )
    await expectRejection(validTeam, { variables: { leats: 4 } }).toMatchObject({ hint: "did you mean 'least'?" })
    await expectRejection(validTeam, { variables: { writer_load: 4 } }).toThrow(/is a system variable/)
  })

  test('TM39 an endless loop is rejected, including in a sub-team; warnings are in team:start', async () => {
    const handoffs = [
      { from_agent: 'writer', to_agent: 'reviewer' },
      { from_agent: 'reviewer', to_agent: 'writer' },
    ]
    await expectRejection({ ...validTeam, handoffs }).toThrow(/handoffs\[0\]: writer → reviewer → writer never ends/)
    const inner = { name: 'outer', agents: [{ name: 'a', team: { ...validTeam, handoffs } }] }
    await expectRejection(inner).toThrow(/agents\[0\]\.team\.handoffs\[0\]: .* never ends/)
    const unreachable = {
      ...validTeam,
      agents: [...validTeam.agents, { name: 'idle' }],
      after_work_behavior: 'terminate',
    }
    const { events } = await runTeam(unreachable, { writer: ['x'], router: routerVerdicts({}) })
    const start = events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data).toMatchObject({ warnings: ["agents[2].name: no handoff leads to 'idle'"] })
    const plain = { name: 'One', agents: [{ name: 'a' }], after_work_behavior: 'terminate' }
    const startOfPlain = (await runTeam(plain, { a: ['x'] })).events.find((event) => isEvent(event, 'team:start'))
    expect(startOfPlain?.data).not.toHaveProperty('warnings')
  })

  test('TM22 variables that only conditions use can be set, and configured ones overridden', async () => {
    const team = { ...validTeam, after_work_behavior: 'terminate' }
    const writer = [{ response: 'x', variables: { score: 2 } }]
    const without = await runTeam(team, { writer })
    expect(without.route).toEqual(['writer'])
    const handoffs = [{ ...validTeam.handoffs[0], condition: 'score > {{ least }} and is_urgent' }]
    const variables = { least: 1, is_urgent: true }
    const run = await runTeam({ ...team, handoffs }, { writer, reviewer: ['ok'] }, { variables })
    expect(run.route).toEqual(['writer', 'reviewer'])
    expect(run.output.variables).toEqual({ least: 1, is_urgent: true, score: 2 })
  })

  test('TM22 a team file that was not loaded, too deep nesting and an empty message are rejected', async () => {
    await expectRejection({ ...validTeam, agents: [...validTeam.agents, { name: 'x', team: 'other.yaml' }] }).toThrow(
      /team file 'other.yaml' .* was not loaded/,
    )
    let deep: Record<string, unknown> = { name: 'T', agents: [{ name: 'a' }] }
    for (let level = 0; level < 9; level++) deep = { name: 'T', agents: [{ name: 'a', team: deep }] }
    await expectRejection(deep).toMatchObject({ code: 'depth_exceeded' })
    await expectRejection(validTeam, { message: '  ' }).toThrow(/`message` is empty/)
  })
})
