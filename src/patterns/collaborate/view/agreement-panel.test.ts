import { expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  drawnAgreement,
  permanentError,
} from '../../../../test/support/collaboration.ts'
import { isEvent } from '../../../kernel/event.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { timelineFrom } from '../../../views/timeline/reduce-timeline.ts'
import { agreementPanels } from './agreement-panel.ts'
import type { AgreementView } from './agreement-view.ts'
import type { CollaborationViews } from './collaboration-view.ts'

const concerns = [{ concern: 'It is late', severity: 'high' }]
const replies = {
  a: contributionJson('go', 0.8),
  b: contributionJson('go', 0.6),
  c: contributionJson('wait', 0.9, { concerns }),
  d: permanentError('no luck'),
}
const agents = ['a', 'b', 'c', 'd'].map((name) => ({ name, role: `${name} role` }))
const input = { task: 'x', agents, synthesis: 'vote', consensus_threshold: 0.6, limits: { max_parallel: 4 } }

function block<Kind extends PanelBlock['kind']>(blocks: readonly PanelBlock[], kind: Kind, title?: string) {
  const found = blocks.find((each) => each.kind === kind && (title === undefined || each.title === title))
  return found as Extract<PanelBlock, { kind: Kind }> | undefined
}

test('CO126 the panel has positions with supporters, dissent, disagreements, and every contribution as a claim', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  const { run_id } = await troupe.run('collaborate' as string, input)
  const { panels } = await troupe.panels(run_id)
  const [panel] = panels
  const blocks = panel?.blocks ?? []
  expect(panel).toMatchObject({ id: 'agreement', badge: '67 %' })
  expect(block(blocks, 'facts', 'Result')?.facts).toEqual(
    expect.arrayContaining([
      { label: 'decided by weighted vote', value: 'go', tone: 'good' },
      { label: 'needed', value: 0.6, unit: 'share' },
    ]),
  )
  expect(block(blocks, 'text', 'Minority report')).toMatchObject({ claimed_by: 'c', text: 'wait\n- It is late' })
  const rows = block(blocks, 'table', 'Contributions')?.rows ?? []
  expect(rows.map(({ agent, state }) => [agent, state])).toEqual([
    ['a', 'completed'],
    ['b', 'completed'],
    ['c', 'completed'],
    ['d', 'failed'],
  ])
  expect(rows[3]?.note).toContain('no luck')
  expect(block(blocks, 'text', 'a')).toMatchObject({ text: 'because of go', claimed_by: 'a' })
  await troupe.close()
})

test('CO126 CO127 at an earlier event the panel has the recommendations so far; on the timeline votes are won or lost', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  const { run_id } = await troupe.run('collaborate' as string, input)
  const events = await troupe.events(run_id).all()
  const answered = events.findIndex((event) => isEvent(event, 'tool:collaborative:agent:complete'))
  const { panels } = await troupe.panels(run_id, { seq: events[answered]?.seq ?? 0 })
  const [panel] = panels
  expect(block(panel?.blocks ?? [], 'facts', 'So far')?.facts).toContainEqual({
    label: 'answered',
    value: expect.stringMatching(/^[12] of 4$/),
  })
  const timeline = timelineFrom(events, { views: await loadPatternViews(await troupe.patterns()) })
  expect(timeline.sessions.flatMap(({ vote }) => (vote ? [vote] : []))).toEqual([
    { text: '80 % sure: go', won: true },
    { text: '60 % sure: go', won: true },
    { text: '90 % sure: wait', won: false },
  ])
  expect(new Set(timeline.sessions.slice(0, 3).map(({ group }) => group)).size).toBe(1)
  expect(timeline.run[0]?.progress?.text).toBe('3 of 4 answered')
  await troupe.close()
})

test('CO126 the scores of best_of have the reasons of the evaluator', async () => {
  const evaluation = {
    scores: [
      { answer: 1, score: 6, reason: 'short' },
      { answer: 2, score: 9, reason: 'complete' },
    ],
    best: 2,
    reason: 'It covers all.',
  }
  const { troupe } = await createCollaborationTroupe({ ...replies, everybody: JSON.stringify(evaluation) })
  const two = { ...input, agents: agents.slice(0, 2), synthesis: 'best_of' }
  const { run_id, output } = await troupe.run('collaborate' as string, two)
  const { panels } = await troupe.panels(run_id)
  const scores = (output as { best_of: { scores: { agent: string; score: number; reason: string }[] } }).best_of.scores
  const rows = panels[0]?.blocks.flatMap((each) =>
    each.kind === 'table' && each.title?.startsWith('Scores') ? each.rows : [],
  )
  expect(rows).toHaveLength(scores.length)
  expect(rows?.[0]).toMatchObject({ score: Math.max(...scores.map(({ score }) => score)) })
  await troupe.close()
})

test('CO126 CO129 positions have their share, the stated confidence of their agents, and those without a position', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  const { run_id } = await troupe.run('collaborate' as string, input)
  const { panels } = await troupe.panels(run_id)
  const shares = block(panels[0]?.blocks ?? [], 'shares')?.shares ?? []
  expect(shares.map(({ label, tone, value }) => [label, tone, value])).toEqual([
    ['go', 'good', expect.closeTo(1.4 / 2.3)],
    ['wait', 'muted', expect.closeTo(0.9 / 2.3)],
    ['No position', 'muted', 0],
  ])
  expect(shares.map(({ by }) => by)).toEqual([
    [
      { agent: 'a', value: 0.8 },
      { agent: 'b', value: 0.6 },
    ],
    [{ agent: 'c', value: 0.9 }],
    [{ agent: 'd', note: expect.stringContaining('no luck') }],
  ])
  await troupe.close()
})

test('an output of an older version, with figures that are no longer made, is shown', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  const { output } = await troupe.run('collaborate' as string, input)
  const now = output as unknown as AgreementView & { consensus: object; metadata: object }
  const older = {
    ...now,
    consensus: {
      ...now.consensus,
      kappa: -0.33,
      calibration: [{ stated: 0.8, right: 1, cases: 10, low: 0.7, high: 1 }],
    },
    decision: { collaborated: false, reason: 'the confidence of the first answer is 95 %' },
    metadata: {
      ...now.metadata,
      ...{ synthesis: 'solo', categories: ['yes', 'no'], saved: { agents: ['e'], calls: 1, why: 'solo' } },
      savings: { baseline_model: 'dear', baseline_cost: 4, saved: 3 },
    },
  }
  const views: CollaborationViews = { byKey: new Map(), specialists: new Map() }
  const [panel] = agreementPanels(views, { input, output: older })
  expect(block(panel?.blocks ?? [], 'shares')?.shares).toHaveLength(3)
  expect(block(panel?.blocks ?? [], 'facts', 'Savings')?.facts).toContainEqual({ label: 'not asked', value: 'e' })
  expect(drawnAgreement(older)).toContain('requests saved: 1 · because: solo · not asked: e')
  await troupe.close()
})
