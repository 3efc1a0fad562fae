import { expect, test } from 'vitest'
import { runTeam } from '../../../test/support/team-harness.ts'
import { lanesFrom } from '../../views/lanes.ts'
import { teamEvents } from './events.ts'
import { teamView } from './view.ts'

const writing = {
  name: 'Writing',
  agents: [{ name: 'writer' }, { name: 'editor' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'editor' }],
}

test('LN2 handoffs are arrows between the lanes of agents, if the view of the pattern is known', async () => {
  const { events, route } = await runTeam(writing, { writer: ['A draft.'], editor: ['It is good.'] })
  expect(route).toEqual(['writer', 'editor'])
  const views = [{ name: 'team', events: Object.keys(teamEvents), view: teamView }]
  const handoffs = lanesFrom(events, views).arrows.filter(({ kind }) => kind === 'handoff')
  expect(handoffs.map(({ from, to }) => [from, to])).toContainEqual(['writer', 'editor'])
  expect(handoffs.every(({ from }) => from !== 'user')).toBe(true)
  expect(lanesFrom(events).arrows.filter(({ kind }) => kind === 'handoff')).toEqual([])
})
