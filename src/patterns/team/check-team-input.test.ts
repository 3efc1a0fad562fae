import { describe, expect, test } from 'vitest'
import { routerVerdicts, runTeam } from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'

const good = {
  name: 'Good',
  agents: [{ name: 'writer', outputs: { score: 'number' } }, { name: 'reviewer' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'score > {{ least }} and urgent' }],
  context_variables: { least: 3 },
}

describe('a team that cannot work is refused before anything is paid for', () => {
  const refused = (team: unknown, options = {}) => expect(runTeam(team, {}, options)).rejects

  test('TM22 an empty team, a name that is nobody’s, a handoff to itself', async () => {
    await refused({ name: 'Empty', agents: [] }).toThrow(/the team is empty/)
    const lost = { ...good, handoffs: [{ from_agent: 'writer', to_agent: 'reviewr' }] }
    await refused(lost).toMatchObject({ code: 'invalid_input', hint: "did you mean 'reviewer'?" })
    await refused({ ...good, handoffs: [{ from_agent: 'writer', to_agent: 'writer' }] }).toThrow(
      /cannot hand to itself/,
    )
    await refused({ ...good, entry: 'boss' }).toThrow(/no agent or group 'boss'/)
    await refused({ ...good, agents: [{ name: 'writer', uses: 'nobody' }, { name: 'reviewer' }] }).toThrow(
      /in the roster/,
    )
  })

  test('TM22 a condition that cannot be read, an unknown field, a value of no kind', async () => {
    await refused({ ...good, handoffs: [{ ...good.handoffs[0], condition: 'score > ' }] }).toThrow(
      /handoffs\[0\]\.condition/,
    )
    await refused({ ...good, colour: 'blue' }).toThrow(/colour/)
    await refused({ ...good, context_variables: { least: [3] } }).toThrow(/context_variables/)
  })

  test('TM22 a variable of the wrong type, one that is not there, one that Troupe sets', async () => {
    await refused(good, { variables: { least: 'three' } }).toThrow(/'least' is a number, not the string "three"/)
    await refused(good, { variables: { leats: 4 } }).toMatchObject({ hint: "did you mean 'least'?" })
    await refused(good, { variables: { writer_load: 4 } }).toThrow(/set by Troupe itself/)
  })

  test('TM39 a circle without a way out is refused, in a team inside as well; a warning is told with the start', async () => {
    const handoffs = [
      { from_agent: 'writer', to_agent: 'reviewer' },
      { from_agent: 'reviewer', to_agent: 'writer' },
    ]
    await refused({ ...good, handoffs }).toThrow(/handoffs\[0\]: writer → reviewer → writer never ends/)
    const inner = { name: 'outer', agents: [{ name: 'a', team: { ...good, handoffs } }] }
    await refused(inner).toThrow(/agents\[0\]\.team\.handoffs\[0\]: .* never ends/)
    const odd = { ...good, agents: [...good.agents, { name: 'idle' }], after_work_behavior: 'terminate' }
    const { events } = await runTeam(odd, { writer: ['x'], router: routerVerdicts({}) })
    const start = events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data).toMatchObject({ warnings: ["agents[2].name: nobody ever hands to 'idle'"] })
    const plain = { name: 'One', agents: [{ name: 'a' }], after_work_behavior: 'terminate' }
    const quiet = (await runTeam(plain, { a: ['x'] })).events.find((event) => isEvent(event, 'team:start'))
    expect(quiet?.data).not.toHaveProperty('warnings')
  })

  test('TM22 a variable that only conditions speak of may be given, and configured ones changed', async () => {
    const team = { ...good, after_work_behavior: 'terminate' }
    const writer = [{ response: 'x', variables: { score: 2 } }]
    const without = await runTeam(team, { writer })
    expect(without.route).toEqual(['writer'])
    const handoffs = [{ ...good.handoffs[0], condition: 'score > {{ least }} and is_urgent' }]
    const variables = { least: 1, is_urgent: true }
    const scene = await runTeam({ ...team, handoffs }, { writer, reviewer: ['ok'] }, { variables })
    expect(scene.route).toEqual(['writer', 'reviewer'])
    expect(scene.output.variables).toEqual({ least: 1, is_urgent: true, score: 2 })
  })

  test('TM22 the path of a file that was not read, teams too deep, an empty message', async () => {
    await refused({ ...good, agents: [...good.agents, { name: 'x', team: 'other.yaml' }] }).toThrow(
      /'other.yaml' is the path/,
    )
    let deep: Record<string, unknown> = { name: 'T', agents: [{ name: 'a' }] }
    for (let level = 0; level < 9; level++) deep = { name: 'T', agents: [{ name: 'a', team: deep }] }
    await refused(deep).toMatchObject({ code: 'depth_exceeded' })
    await refused(good, { message: '  ' }).toThrow(/the message is empty/)
  })
})
