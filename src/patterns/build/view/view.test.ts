import { expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { Event } from '../../../index.ts'
import { panelLines } from '../../../surfaces/cli/render/block-lines.ts'
import { formatProgressLine } from '../../../surfaces/cli/render/run-progress.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-view.ts'
import { build } from '../build.ts'
import type { BuildOutput } from '../output.ts'
import type { CheckResult } from '../verification/check.ts'
import { newBuildProgress, reduceBuildProgress } from './build-progress.ts'
import { planPanels } from './plan-panel.ts'

const NOTE = 'Agents do not see what is not committed (1 changed, 1 untracked); it stays in the checkout.'
const WIDTH = 47

/** Wrapped lines as one text; none of them is wider than the terminal. */
function unwrap(lines: readonly string[]): string {
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(WIDTH)
  return lines.join(' ').replaceAll(/\s+/g, ' ')
}

test('BD42 at the start, notes about the checkout are shown in full, and what changes without an answer in a line of its own', async () => {
  const facts = { run_id: 'r_1', at: 0 }
  const agent = { agent_id: 'developer-T2-1', agent_type: 'developer', instance_id: 'T2-1' }
  const status = (state: string, summary: string) => ({
    ...{ key: `messages/${state}`, message_type: 'status_update', related_task_id: 'T2' },
    ...{ from_agent: agent, to_agent: agent, content: { state, summary } },
  })
  const events = [
    { ...facts, seq: 1, type: 'run:start', data: { pattern: 'build', input: {}, limits: {} } },
    { ...facts, seq: 2, type: 'build:start', data: { key: 'start', base: 'abc', base_branch: 'main', notes: [NOTE] } },
    { ...facts, seq: 3, type: 'build:message', data: status('not_started', 'not started: it depends on T1') },
    { ...facts, seq: 4, type: 'build:message', data: status('merged', 'its branch was merged') },
  ] as unknown as Event[]
  const view = runViewFrom(events, await loadPatternViews([build]))
  const [, start, waiting] = events.map((event) => formatProgressLine(event, view, plainStyle(WIDTH)))
  expect(unwrap(start?.split('\n') ?? [])).toBe(` 0ms builds on main, abc 0ms ${NOTE}`)
  expect(unwrap(waiting?.split('\n') ?? [])).toMatch(/status update T2: not started: it depends on T1$/)
})

test('BD42 the result cuts off neither notes nor commands, and says which checks had not passed before either', () => {
  const check = (name: string, passed: boolean): CheckResult => ({
    ...{ name, kind: 'test', command: `npm run ${name}`, required: true, exit_code: passed ? 0 : 1 },
    ...{ status: passed ? 'passed' : 'failed', duration_ms: 1, output: '' },
  })
  const output: BuildOutput = {
    ...{ status: 'completed', report: 'done', branch: 'troupe/result/r_92207802c089', base: 'abc', head: 'def' },
    ...{
      changes: { files_created: ['a'], files_modified: [], files_deleted: [] },
      plan: null,
      tasks: [],
      review: null,
    },
    ...{ iterations: 1, approved_by: 'reviewer', merge_rounds: 0, decisions: [], notes: [NOTE] },
    checks: {
      baseline: [check('test', false), check('lint', true)],
      final: [check('test', false), check('lint', true), check('new', false)],
    },
  }
  const progress = newBuildProgress()
  reduceBuildProgress(progress, {
    type: 'build:start',
    data: { base: 'abc', base_branch: 'main', notes: [NOTE] },
  } as never)
  const text = unwrap(panelLines(planPanels({ progress }, { output }), plainStyle(WIDTH)))
  expect(text).toContain('keep it with: git merge troupe/result/r_92207802c089')
  expect(text).toContain(`note: ${NOTE}`)
  expect(text).toContain('test (npm run test): failed (exit code 1); it did not pass before the work either')
  expect(text).toContain('lint (npm run lint): passed new (npm run new): failed (exit code 1)')
})
