import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import type { PanelBlock } from '../../src/views/panel.ts'
import { Blocks } from './block.tsx'
import { nextOrder, sortRows } from './sort-rows.ts'
import { visibleRange } from './virtual-rows.ts'

const render = (...blocks: PanelBlock[]) => renderToStaticMarkup(createElement(Blocks, { blocks }))

test('WB4 numbers of the unit `code` are exact, and counts are grouped', () => {
  const facts = [0.0004, 1.00049, 1999999.9996, 12345678, 1e21, true].map((value) => ({
    label: 'exact',
    value,
    unit: 'code' as const,
  }))
  const shown = render(
    { kind: 'facts', facts: [...facts, { label: 'count', value: 12_345 }] },
    { kind: 'table', columns: [{ key: 'a', title: 'a', unit: 'code' }], rows: [{ a: 0.0004 }, { a: 1_234_567 }] },
  )
  const texts = [...shown.matchAll(/class="value[^>]*>([^<]*)</g)].map(([, text]) => text)
  expect(texts).toEqual([
    ...['0.0004', '1.00049', '1999999.9996', '12345678', '1e+21', 'true', '12,345', '0.0004', '1234567'],
  ])
})

const PLANTED = '<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202eevil\u001b[31m'

/** The planted text in every place of every kind of block. */
const EVERYWHERE: PanelBlock[] = [
  {
    kind: 'facts',
    title: PLANTED,
    facts: [
      { label: PLANTED, value: PLANTED },
      { label: 'a', value: PLANTED, unit: 'agent' },
    ],
  },
  { kind: 'text', title: 't', text: PLANTED, claimed_by: PLANTED },
  { kind: 'code', title: 't', text: PLANTED },
  { kind: 'table', columns: [{ key: 'a', title: PLANTED, unit: 'state' }], rows: [{ a: PLANTED }] },
  { kind: 'table', columns: [{ key: 'a', title: 'x' }], rows: [], empty: PLANTED },
  {
    kind: 'steps',
    steps: [
      { title: PLANTED, state: PLANTED, agent: PLANTED, note: PLANTED, steps: [{ title: PLANTED, state: 'running' }] },
    ],
  },
  { kind: 'shares', shares: [{ label: PLANTED, value: 0.5, by: [{ agent: PLANTED, note: PLANTED }] }] },
  {
    kind: 'graph',
    title: PLANTED,
    nodes: [{ id: PLANTED, label: PLANTED, note: PLANTED, state: PLANTED }],
    edges: [{ from: PLANTED, to: PLANTED, label: PLANTED }],
  },
  { kind: 'matrix', rows: [PLANTED], columns: [PLANTED], values: [[1]] },
  { kind: 'messages', messages: [{ role: 'user', parts: [{ kind: 'call', name: PLANTED, text: PLANTED }] }] },
  { kind: 'diff', path: PLANTED, diff: `@@ -1 +1 @@\n-${PLANTED}\n+${PLANTED}!` },
  { kind: 'json', value: { [PLANTED]: [PLANTED, { [PLANTED]: PLANTED }] } },
]

describe('blocks', () => {
  test('WB20 planted markup, bidirectional marks and terminal escapes are shown as text in every kind of block', () => {
    for (const block of EVERYWHERE) {
      const html = render(block)
      expect(html, block.kind).not.toMatch(/<img|<script|<\/script/i)
      expect(html, block.kind).not.toContain('\u202e')
      expect(html, block.kind).not.toContain('\u001b')
      expect(html, block.kind).toContain('&lt;img')
    }
  })

  test('WR31 a column without any value is left out, unless all are', () => {
    const columns = [
      { key: 'a', title: 'Tool' },
      { key: 'b', title: 'Error' },
    ]
    expect(render({ kind: 'table', columns, rows: [{ a: 'Read', b: null }] })).not.toContain('Error')
    expect(render({ kind: 'table', columns, rows: [{ a: null, b: null }] })).toContain('Error')
  })

  test('WR5 the words of an agent are labelled as a claim', () => {
    expect(render({ kind: 'text', text: 'All tests pass', claimed_by: 'developer' })).toContain(
      'What the agent says, not checked',
    )
    expect(render({ kind: 'text', text: 'All tests pass' })).not.toContain('not checked')
  })

  test('WR6 a block of an unknown kind is shown as JSON', () => {
    const html = render({ kind: 'hologram', depth: 3 } as unknown as PanelBlock)
    expect(html).toContain('hologram')
    expect(html).toContain('depth')
  })

  test('WR7 a diff of more than 2,000 lines says how many are missing and offers them', () => {
    const lines = Array.from({ length: 2_500 }, (_, index) => `+line ${index}`)
    const html = render({ kind: 'diff', path: 'a.txt', diff: `@@ -0,0 +1,2500 @@\n${lines.join('\n')}` })
    expect(html).toContain('501 more lines not shown yet.')
    expect(html).toContain('Show the rest')
  })

  test('WR8 a column sorts ascending, descending, then not at all; empty values come last', () => {
    const rows = [{ a: 2 }, { a: null }, { a: 10 }, { a: 1 }]
    const first = nextOrder(null, 'a')
    const second = nextOrder(first, 'a')
    expect(sortRows(rows, first).map(({ a }) => a)).toEqual([1, 2, 10, null])
    expect(sortRows(rows, second).map(({ a }) => a)).toEqual([10, 2, 1, null])
    expect(nextOrder(second, 'a')).toBeNull()
    expect(sortRows([{ a: 'v10' }, { a: 'v9' }], first).map(({ a }) => a)).toEqual(['v9', 'v10'])
  })

  test('of a long table only the rows in view and some around them are drawn', () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => ({ n: index }))
    const html = render({ kind: 'table', columns: [{ key: 'n', title: 'N' }], rows })
    expect(html.match(/<tr/g)?.length).toBeLessThan(60)
    expect(html).toContain('aria-rowcount="5001"')
    const range = visibleRange(32 * 4_990, 320, { count: 5_000, rowHeight: 32 })
    expect(range.end).toBe(5_000)
    expect(range.above + (range.end - range.first) * 32 + range.below).toBe(5_000 * 32)
  })
})
