import { expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe, permanentError } from '../../../../test/support/collaboration.ts'
import { isEvent } from '../../../kernel/event.ts'
import type { PanelBlock } from '../../../kernel/panel.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { timelineFrom } from '../../../views/timeline/reduce-timeline.ts'
import type { AgreementView } from './agreement-view.ts'
import { standpointBlocks } from './standpoints.ts'

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
  expect(timeline.run[0]?.progress?.text).toBe('4 of 4 specialists')
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

test('CO126 CO129 the plot has who stands where with stated confidence, first answers and those who were not heard', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  const { run_id, output } = await troupe.run('collaborate' as string, input)
  const { panels } = await troupe.panels(run_id)
  const positions = block(panels[0]?.blocks ?? [], 'positions')?.positions ?? []
  expect(positions.map(({ label, note, tone }) => [label, note, tone])).toEqual([
    ['go', '2 votes', 'good'],
    ['wait', '1 vote, dissent', 'muted'],
    ['No position', 'not counted as agreement', 'muted'],
  ])
  expect(positions.map(({ share }) => share)).toEqual([expect.closeTo(1.4 / 2.3), expect.closeTo(0.9 / 2.3), undefined])
  expect(positions[0]?.by).toEqual([
    { agent: 'a', stated: 0.8 },
    { agent: 'b', stated: 0.6 },
  ])
  expect(positions[2]?.by).toEqual([{ agent: 'd', stated: null, note: expect.stringContaining('no luck') }])
  const agreement = output as unknown as AgreementView
  const contributions = agreement.contributions.map((each) =>
    each.agent === 'a' ? { ...each, before: { recommendation: 'wait', confidence: 0.5 } } : each,
  )
  const [moved] = standpointBlocks({ ...agreement, contributions })
  expect(moved?.kind === 'positions' && moved.positions[0]?.by[0]).toEqual({
    agent: 'a',
    stated: 0.8,
    before: { position: 'wait', stated: 0.5 },
  })
  await troupe.close()
})

test('CO129 from ten votes with an outcome on, stated confidence is compared with how often it was right', async () => {
  const { troupe } = await createCollaborationTroupe(replies)
  let last: readonly PanelBlock[] = []
  for (let round = 0; round < 6; round += 1) {
    const { run_id } = await troupe.run('collaborate' as string, { ...input, task: `case ${round}` })
    last = (await troupe.panels(run_id)).panels[0]?.blocks ?? []
    expect(block(last, 'calibration') !== undefined, `after ${round * 3} votes`).toBe(round * 3 >= 10)
    await troupe.run('outcome', { of_run: run_id, answer: 'go' })
  }
  const { points = [], text } = block(last, 'calibration') ?? {}
  expect(points.map(({ stated, right, cases }) => [stated, right, cases])).toEqual([
    [expect.closeTo(0.6), 1, 5],
    [expect.closeTo(0.8), 1, 5],
    [expect.closeTo(0.9), 0, 5],
  ])
  for (const { low, high, right } of points) {
    expect(low).toBeLessThanOrEqual(right)
    expect(high).toBeGreaterThanOrEqual(right)
    expect(high - low).toBeGreaterThan(0.3)
  }
  expect(text).toContain(
    '15 votes with a known outcome. On average they were right 10 points less often than they said.',
  )
  const [first, second] = block(last, 'positions')?.positions ?? []
  expect(first?.by[0]).toMatchObject({ agent: 'a', stated: 0.8, calibrated: 1 })
  expect(second?.by[0]).toMatchObject({ agent: 'c', stated: 0.9, calibrated: 0 })
  await troupe.close()
})
