import { expect, test } from 'vitest'
import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import type { ListItem } from './run-list.ts'
import { holdOrder, listRuns, mergeRuns, movedRuns } from './run-list.ts'

const now = new Date(2026, 10, 16, 15).getTime()
const HOUR = 3_600_000

function run(run_id: string, hoursAgo: number, part: Partial<RunItem> = {}): RunItem {
  const created_at = now - hoursAgo * HOUR
  return { run_id, created_at, status: 'completed', open_gates: 0, running: false, ...part } as RunItem
}

const stalled = new Map([['s', { run_id: 's', stalled: 'No progress for 4m' } as RunSummary]])
const rows = (items: readonly ListItem[]) =>
  items.map((item) => (item.kind === 'group' ? `${item.title} ${item.count}` : item.runId))
const list = (runs: readonly RunItem[], summaries = new Map<string, RunSummary>()) =>
  listRuns({ runs, summaries, states: [], now })

const live: Partial<RunItem> = { status: 'running', running: true }

test('WB7 groups and their order', () => {
  const runs = [
    run('old', 30),
    run('today', 2),
    run('r', 3, live),
    run('p', 1, { status: 'pending' }),
    run('s', 5, live),
    run('w', 6, { status: 'waiting' }),
    run('g', 4, { ...live, open_gates: 1 }),
    run('crashed', 7, { status: 'running', running: false }),
  ]
  expect(rows(list(runs, stalled))).toEqual([
    'Needs attention 4',
    'g',
    's',
    'w',
    'crashed',
    'Running 2',
    'p',
    'r',
    'Today 1',
    'today',
    'Yesterday 1',
    'old',
  ])
})

test('WB7 only the states of the filter', () => {
  const runs = [run('s', 5, live), run('r', 3, live), run('w', 1, { status: 'waiting' })]
  expect(rows(listRuns({ runs, summaries: stalled, states: ['stalled'], now }))).toEqual(['Needs attention 1', 's'])
})

test('WB7 rows stay where they are while the list is held; later pages are added at the end', () => {
  const before = list([run('a', 1, live), run('b', 2), run('c', 3)])
  const wanted = list([run('a', 1), run('new', 0, live), run('b', 2), run('c', 3), run('d', 30)])
  const held = holdOrder(before, wanted)
  expect(rows(held)).toEqual(['Running 1', 'a', 'Today 2', 'b', 'c', 'Yesterday 1', 'd'])
  expect(movedRuns(held, wanted)).toBe(2)
  expect(movedRuns(wanted, wanted)).toBe(0)
})

test('WB7 fresh rows replace known ones', () => {
  const merged = mergeRuns([run('a', 1, live), run('b', 2)], [run('a', 1)])
  expect(merged.map(({ run_id, status }) => `${run_id} ${status}`)).toEqual(['a completed', 'b completed'])
})
