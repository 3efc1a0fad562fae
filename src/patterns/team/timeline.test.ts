import { expect, test } from 'vitest'
import { runTeam } from '../../../test/support/team-harness.ts'
import { timelineFrom } from '../../views/timeline/reduce-timeline.ts'
import { teamEvents } from './events.ts'
import { teamView } from './view.ts'

const writing = {
  name: 'Writing',
  agents: [{ name: 'writer' }, { name: 'editor' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'editor' }],
}

test('TL6 handoffs are links between lanes, if the view of the pattern is known', async () => {
  const { events, route } = await runTeam(writing, { writer: ['A draft.'], editor: ['It is good.'] })
  expect(route).toEqual(['writer', 'editor'])
  const views = [{ name: 'team', events: Object.keys(teamEvents), view: teamView }]
  const { links, sessions, messages, notices } = timelineFrom(events, { views })
  const handoffs = links.filter(({ kind }) => kind === 'handoff')
  const [first] = handoffs.filter(({ to }) => to === 'editor')
  const editor = sessions.find(({ lane }) => lane === 'editor')
  expect(first).toMatchObject({ from: 'writer', to_session: editor?.id, ended_seq: editor?.seq })
  expect(messages.filter(({ type }) => type === 'task_assignment')).toMatchObject([{ from: 'writer', to: 'editor' }])
  expect(notices.filter(({ kind }) => kind !== 'note')).toEqual([])
  const unknown = timelineFrom(events)
  expect(unknown.links.filter(({ kind }) => kind === 'handoff')).toEqual([])
  expect(unknown.notices.map(({ kind }) => kind)).toContain('unknown_event')
})
