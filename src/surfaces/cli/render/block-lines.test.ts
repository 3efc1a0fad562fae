import { expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import { displayWidth } from '../../../views/text-width.ts'
import { blockLines, panelLines } from './block-lines.ts'

const HOSTILE = 'ann\u001b[2J\u202e\n設計者 fake'

/** One block of every kind. */
const blocks: PanelBlock[] = [
  {
    kind: 'facts',
    facts: [
      { label: HOSTILE, value: HOSTILE, tone: 'bad' },
      { label: 'cost', value: null, unit: 'usd' },
    ],
  },
  { kind: 'text', title: 'Note', text: HOSTILE, claimed_by: HOSTILE },
  { kind: 'code', text: HOSTILE },
  {
    kind: 'table',
    columns: [
      { key: 'a', title: HOSTILE },
      { key: 'b', title: 'B' },
    ],
    rows: [{ a: HOSTILE, b: 2 }],
  },
  {
    kind: 'steps',
    steps: [{ title: HOSTILE, state: 'completed', agent: 'x', note: HOSTILE, steps: [{ title: 'y', state: 'holds' }] }],
  },
  { kind: 'shares', shares: [{ label: HOSTILE, value: 0.5, by: [{ agent: HOSTILE, value: 0.4, note: HOSTILE }] }] },
  {
    kind: 'graph',
    nodes: [],
    edges: [
      { from: HOSTILE, to: 'b', label: HOSTILE, count: 2 },
      { from: 'a', to: 'c', count: 0 },
    ],
  },
  { kind: 'matrix', rows: [HOSTILE], columns: ['b'], values: [[3]] },
  { kind: 'messages', messages: [{ role: 'user', parts: [{ kind: 'text', text: HOSTILE }] }] },
  { kind: 'diff', path: HOSTILE, diff: HOSTILE },
  { kind: 'json', value: { a: HOSTILE } },
]

test('L94 L5 every block is drawn at any width, and its text cannot widen a line or control the terminal', () => {
  for (const block of blocks) {
    for (const width of [24, 40, 80, 200]) {
      const lines = blockLines(block, plainStyle(width))
      expect(lines.join('')).not.toBe('')
      for (const line of lines) {
        expect(displayWidth(line)).toBeLessThanOrEqual(width)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not appear.
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
      }
    }
  }
})

test('PT8 what only explains, and long texts and tables, are drawn in full with --all', () => {
  const rows = Array.from({ length: 15 }, (_, n) => ({ n }))
  const table: PanelBlock = { kind: 'table', title: 'Rows', columns: [{ key: 'n', title: 'N', unit: 'count' }], rows }
  const panel = {
    id: 'p',
    title: 'Page',
    badge: '2',
    blocks: [table, { ...table, title: 'More', detail: true } as const],
  }
  const short = panelLines([panel], plainStyle(60))
  expect(short).toEqual([
    'page  2',
    'Rows',
    '  N',
    ...rows.slice(0, 12).map(({ n }) => `  ${n}`),
    '  … 3 more rows (show with --all)',
  ])
  expect(panelLines([panel], plainStyle(60), true)).toHaveLength(1 + 2 * 17)
})

test('a table that does not fit is drawn as records', () => {
  const columns = ['Question', 'Answer'].map((title) => ({ key: title, title }))
  const text = 'long words '.repeat(5).trim()
  const lines = blockLines({ kind: 'table', columns, rows: [{ Question: text, Answer: text }] }, plainStyle(60))
  expect(lines).toEqual([`  ${text}`, '    answer: long words long words long words long words long', '      words'])
})

test('PT8 a block that cannot be drawn leaves the rest of its panel', () => {
  const facts = [{ label: 'at', value: Number.NaN, unit: 'time' as const }]
  const steps = [{ title: 'y', state: 'constructor' }]
  const drawn: PanelBlock[] = [
    { kind: 'facts', facts },
    { kind: 'steps', steps },
    { kind: 'table', title: 'Newer', columns: undefined as never, rows: [{}] },
    { kind: 'text', text: 'the rest' },
  ]
  const lines = panelLines([{ id: 'p', title: 'Plan', blocks: drawn }], plainStyle(80)).join('\n')
  expect(lines).toMatch(/at: -[\s\S]*y {2}constructor[\s\S]*Newer: cannot be shown[\s\S]*the rest/)
})
