import { expect, test } from 'vitest'
import type { BuildScript } from '../../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  json,
  planTask,
  SOLUTIONS,
  solve,
  TEST_COMMAND,
  write,
} from '../../../../test/support/build-harness.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { timelineFrom } from '../../../views/timeline/reduce-timeline.ts'

const PLAN = {
  summary: 'Two functions',
  no_change_reason: null,
  tests_must_pass: false,
  tasks: [
    planTask('T1', ['src/slug.ts'], { priority: 'high' }),
    planTask('T2', ['src/extra.ts'], { dependencies: [{ task_id: 'T1', kind: 'hard' }] }),
  ],
}
const FINDING = {
  finding_id: 'F1',
  severity: 'major',
  category: 'logic',
  file: 'src/extra.ts',
  line: 1,
  description: 'It adds nothing.',
}

let reviews = 0
const script: BuildScript = {
  architect: ({ instruction }) => (instruction.includes('final report') ? { text: 'Done.' } : json(PLAN)),
  developer(call) {
    if (call.task === 'T1') return solve(call)
    if (call.turn === 1) return write('src/extra.ts', `${SOLUTIONS['src/total.ts'] ?? ''}\n// ${reviews}\n`)
    return json({ status: 'completed', summary: 'wrote src/extra.ts', notes: null, blockers: [] })
  },
  reviewer: () =>
    json(
      reviews++ === 0
        ? { verdict: 'changes_requested', summary: 'one problem', findings: [FINDING] }
        : { verdict: 'approved', summary: 'good', findings: [] },
    ),
}

function block<Kind extends PanelBlock['kind']>(blocks: readonly PanelBlock[], kind: Kind, title: string) {
  const found = blocks.find((each) => each.kind === kind && each.title?.startsWith(title))
  return found as Extract<PanelBlock, { kind: Kind }> | undefined
}

test('BD36 BD37 a build has its plan, review rounds with findings, checks, merges and files; the timeline its phases and tasks', async () => {
  const build = await createTestBuild(createSampleRepository(), script, { build: { checks: { test: TEST_COMMAND } } })
  const result = await build.run({ approve_plan: false })
  expect(result.status, JSON.stringify(result.error)).toBe('completed')
  const { panels } = await build.troupe.panels(result.run_id)
  const panel = panels.find(({ id }) => id === 'plan')
  const blocks = panel?.blocks ?? []
  expect(panel?.badge).toBe('review 2')
  expect(block(blocks, 'table', 'Scope')?.rows).toMatchObject([
    { id: 'T1', state: 'completed', developer: 'developer', scope: 'src/slug.ts', needs: null },
    { id: 'T2', state: 'completed', needs: 'T1 (hard)' },
  ])
  expect(block(blocks, 'steps', 'Tasks')?.steps[1]?.steps?.length).toBeGreaterThan(1)
  expect(block(blocks, 'facts', 'Review 1: 1 finding')?.facts).toContainEqual({
    label: 'verdict',
    value: 'changes requested',
    tone: 'bad',
  })
  const findings = blocks.flatMap((each) => (each.kind === 'table' ? each.rows : [])).filter((row) => 'finding' in row)
  expect(findings).toMatchObject([{ severity: 'major', file: 'src/extra.ts', line: 1, state: 'not raised again' }])
  const checks = block(blocks, 'table', 'Checks')?.rows ?? []
  expect(checks.map(({ when }) => when)).toEqual(expect.arrayContaining(['before the work', 'round 1', 'round 2']))
  expect(block(blocks, 'table', 'Files changed')?.rows).toContainEqual({
    path: 'src/extra.ts',
    change: 'created',
    task_id: 'T2',
  })
  expect(block(blocks, 'table', 'Merges')?.rows.length).toBeGreaterThan(2)
  expect(block(blocks, 'text', 'Report')).toMatchObject({ text: 'Done.', claimed_by: 'architect' })

  const events = await build.troupe.events(result.run_id).all()
  const timeline = timelineFrom(events, { views: await loadPatternViews(await build.troupe.patterns()) })
  const titles = timeline.phases.map(({ title }) => title)
  expect(titles).toEqual(expect.arrayContaining(['Plan', 'Build', 'Review 1', 'Fix, round 2', 'Review 2']))
  const sessions = timeline.sessions.map(({ title }) => title)
  expect(sessions).toEqual(expect.arrayContaining(['1 finding', 'approved']))
  expect(sessions.some((title) => title.startsWith('T2 '))).toBe(true)
  expect(timeline.links.some(({ kind, label }) => kind === 'dependency' && label === 'needs T1')).toBe(true)
  expect(timeline.run[0]?.progress).toEqual({ text: '2 of 2 tasks', share: 1 })
  const texts = (type: string) => timeline.messages.filter((each) => each.type === type).map(({ text }) => text)
  expect(texts('review_request')[0]).toMatch(/^Review \d files?(; .* must pass)?$/)
  expect(texts('review_result')).toEqual(['Changes requested, 1 finding: one problem', 'Approved: good'])
  expect(texts('acknowledgment')[0]).toMatch(/^Starts T\d \S/)
  const lanes = new Map(timeline.lanes.map(({ id, agent }) => [id, agent]))
  const assignments = timeline.messages.filter(({ type }) => type === 'task_completion')
  expect(assignments.map(({ from }) => lanes.get(from ?? ''))).toEqual(assignments.map(() => 'developer'))
  const starts = events.filter(({ type }) => type === ('build:task_start' as string)).map(({ seq }) => seq)
  const assigned = events.flatMap(({ seq, data }) =>
    'message_type' in data && data.message_type === 'task_assignment' ? seq : [],
  )
  // The assignment is shown on the way to the session that the event before it names.
  expect(assigned).toEqual(starts.map((seq) => seq + 1))
})
