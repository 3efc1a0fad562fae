import { expect, test } from 'vitest'
import { z } from 'zod'
import { patternFrom } from '../../../../test/support/manual-doubles.ts'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { DeclaredEvent, Pattern } from '../../../entries/patterns.ts'
import { definePatternView } from '../../../entries/patterns.ts'
import type { Event } from '../../../index.ts'
import { loadPatternViews, outputText, patternJson, patternPanels } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-view.ts'
import { panelLines } from './block-lines.ts'
import { otherEventLines } from './pattern-lines.ts'
import { formatProgressLine } from './run-progress.ts'
import { runTreeLines } from './run-tree.ts'

const events = { 'review:vote': z.object({ agent: z.string(), approve: z.boolean() }) }

const view = definePatternView<string[], DeclaredEvent<typeof events>>({
  initial: () => [],
  reduce: (votes, { data }) => [...votes, `${data.agent}: ${data.approve}`],
  timeline: (votes, { data }) => [
    { kind: 'progress', agent: data.agent, text: `votes ${data.approve} as number ${votes.length}`, share: null },
  ],
  session: (_votes, { key }) =>
    key.startsWith('reviewer/') ? { purpose: 'reviews the text', result: 'a vote', marked: 'both' } : undefined,
  panels: (votes) => [
    { id: 'votes', title: 'Votes', blocks: [{ kind: 'facts', facts: [{ label: 'votes', value: votes.length }] }] },
  ],
  json: (votes) => ({ votes }),
  outputText: (output) => ((output as { approved?: boolean }).approved ? 'approved' : 'rejected'),
})

const patternWith = (more: Partial<Pattern>) => patternFrom('review', async () => null, { events, ...more })
const style = plainStyle(60)

function journal(agent = 'ann'): Event[] {
  const list = [
    { type: 'run:start', data: { pattern: 'review', input: {}, limits: {} } },
    {
      type: 'session:open',
      session_id: 's_1',
      data: { key: 'reviewer/0', agent: { name: 'ann' }, segment: 1, depth: 0 },
    },
    {
      type: 'session:input',
      session_id: 's_1',
      data: { key: 'reviewer/0/input', message: { role: 'user', content: [{ type: 'text', text: 'Review it.' }] } },
    },
    {
      type: 'session:end',
      session_id: 's_1',
      data: { key: 'reviewer/0', status: 'completed', stop_reason: 'completed', text: '{"approve":true}', error: null },
    },
    { type: 'review:vote', data: { key: 'reviewer/0/vote', agent, approve: true } },
  ]
  return list.map((event, index) => ({
    run_id: 'r_1',
    seq: index + 1,
    at: index * 1000,
    ...event,
  })) as unknown as Event[]
}

const progressLines = (written: readonly Event[], run: ReturnType<typeof runViewFrom>) =>
  written.flatMap((event) => formatProgressLine(event, run, style) ?? [])

test.each([
  ['as it is', view],
  ['loaded when it is needed', async () => view],
])('PT8 a view (%s) gives the lines of events, of sessions, and below the run', async (_how, source) => {
  const loaded = await loadPatternViews([patternWith({ view: source })])
  const run = runViewFrom(journal(), loaded)
  expect(progressLines(journal(), run)).toEqual([
    '   0ms  run r_1 started: review',
    '  4.0s  ann  votes true as number 1',
  ])
  const tree = runTreeLines(run, { style, now: 0, live: false })
  expect(tree.slice(1)).toEqual(['  reviews the text', '  → a vote'])
  expect(panelLines(patternPanels(run), style)).toEqual(['votes', 'votes: 1'])
  expect(patternJson(run)).toEqual({ votes: ['ann: true'] })
  expect(outputText(loaded, 'review', { approved: true })).toBe('approved')
  expect(otherEventLines(run, style)).toEqual([])
})

test('PT8 only a checked view is one of a pattern', () => {
  // @ts-expect-error `definePatternView` checks a view against its events.
  patternWith({ view: { initial: () => 0, reduce: (votes: number) => votes } })
  definePatternView<string, DeclaredEvent<typeof events>>({
    initial: () => '',
    // @ts-expect-error The field is called `agent`.
    reduce: (_votes, { data }) => data.name,
  })
  // @ts-expect-error A view is no report.
  patternWith({ report: view })
})

test.each([
  ['without a view', [patternWith({})]],
  ['unknown to this process', []],
])('PT9 the events of a pattern %s are shown by their fields', async (_how, patterns) => {
  const run = runViewFrom(journal(), await loadPatternViews(patterns))
  expect(progressLines(journal(), run).at(-1)).toBe('  4.0s  ann  review:vote  agent: ann, approve: true')
  expect(otherEventLines(run, style)).toEqual(['events', '  review:vote  agent: ann, approve: true'])
  expect(runTreeLines(run, { style, now: 0, live: false }).slice(1)).toEqual(['  Review it.', '  → {"approve":true}'])
  expect(JSON.parse(outputText([], 'review', { approved: true }))).toEqual({ approved: true })
})

test('PT8 text of a view cannot control the terminal', async () => {
  const hostile = journal('ann\u001b[2J\u202e\nfake line')
  for (const patterns of [[patternWith({ view })], []]) {
    const run = runViewFrom(hostile, await loadPatternViews(patterns))
    const text = [...progressLines(hostile, run), ...otherEventLines(run, style)].join('|')
    expect(text).toContain('fake line')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not appear.
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
  }
})

test('PT8 a view that no longer fits recorded events fails only where it is used', async () => {
  const broken = patternWith({
    view: definePatternView<number, never>({
      initial: () => 0,
      reduce: () => {
        throw new Error('an old event')
      },
    }),
  })
  const run = runViewFrom(journal(), await loadPatternViews([broken]))
  expect(runTreeLines(run, { style, now: 0, live: false })).toHaveLength(3)
  expect(progressLines(journal(), run).at(-1)).toBe('  4.0s  ann  review:vote  agent: ann, approve: true')
})
