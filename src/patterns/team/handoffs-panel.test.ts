import { expect, test } from 'vitest'
import { runTeam } from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'
import type { PanelBlock } from '../../views/panel.ts'
import type { TeamEvent } from './events.ts'
import { newTeamView } from './team-view.ts'
import { teamView } from './view.ts'

const team = {
  name: 'desk',
  agents: [
    { name: 'triage', role: 'sorts' },
    { name: 'billing', role: 'pays' },
    { name: 'legal', role: 'judges' },
  ],
  context_variables: { kind: 'none' },
  handoffs: [
    { from_agent: 'triage', to_agent: 'billing', condition: 'amount > 10', priority: 2 },
    { from_agent: 'triage', to_agent: 'legal', condition: 'amount > 1000', priority: 3 },
  ],
  after_work_behavior: 'terminate',
}

function block<Kind extends PanelBlock['kind']>(blocks: readonly PanelBlock[], kind: Kind, title?: string) {
  const found = blocks.find((each) => each.kind === kind && (title === undefined || each.title === title))
  return found as Extract<PanelBlock, { kind: Kind }> | undefined
}

test('TM77 the panel has the graph with taken and possible handoffs, the explanation of each, and the variables', async () => {
  const run = await runTeam(team, {
    triage: [{ response: 'It is 50.', variables: { amount: 50 } }],
    billing: ['Paid.'],
  })
  expect(run.result.status, JSON.stringify(run.result.error)).toBe('completed')
  const { panels } = await run.troupe.panels(run.result.run_id)
  const [panel] = panels
  expect(panel).toMatchObject({ id: 'handoffs' })
  const blocks = panel?.blocks ?? []
  const graph = block(blocks, 'graph')
  expect(graph?.edges).toEqual(
    expect.arrayContaining([
      { from: 'triage', to: 'billing', label: 'amount > 10', count: 1 },
      { from: 'triage', to: 'legal', label: 'amount > 1000', count: 0 },
    ]),
  )
  expect(graph?.edges.filter(({ to }) => to === 'billing')).toHaveLength(1)
  const states = new Map(graph?.nodes.map(({ id, state }) => [id, state]))
  expect([states.get('triage'), states.get('billing'), states.get('legal')]).toEqual([
    'completed',
    'completed',
    'pending',
  ])
  const rows = block(blocks, 'table', 'Handoffs')?.rows ?? []
  expect(rows.find(({ to }) => to === 'billing')).toMatchObject({ from: 'triage', by: 'a rule on variables', round: 1 })
  expect(block(blocks, 'table', 'Variables')?.rows).toContainEqual({
    name: 'amount',
    initial: null,
    value: 50,
    by: 'triage',
    round: 1,
  })
  const explained = block(blocks, 'steps')?.steps.find(({ title }) => title.includes('triage → billing'))
  expect(explained?.steps?.map(({ title, state }) => [title, state])).toEqual([
    ['triage → legal', 'does not hold'],
    ['triage → billing', 'holds'],
  ])
  const handoff = run.events.find((event) => isEvent(event, 'team:handoff') && event.data.to === 'billing')
  const explanation = teamView.explain?.(newTeamView(), handoff as unknown as TeamEvent & never)
  expect(explanation?.facts).toContainEqual({ label: 'decided by', value: 'a rule on variables' })
  expect(JSON.stringify(explanation?.blocks)).toContain('amount > 1000')
  await run.troupe.close()
})
