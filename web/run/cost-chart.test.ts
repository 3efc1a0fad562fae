import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { costChart } from '../../src/views/cost-over-time.ts'
import { buildSample } from '../../test/support/sample-timelines.ts'
import { TableBlock } from '../blocks/table.tsx'
import { formatUsd } from '../design/format.ts'
import { CostChartPicture } from './cost-chart.tsx'
import { intervalTable } from './cost-tab.tsx'

const { turns, lanes, pauses } = buildSample()
const until = Math.max(...turns.map(({ ended_at }) => ended_at ?? 0))
const chart = costChart(turns, { lanes, pauses, unit: 'usd', group: 'agent', seq: null, until, inherited: 0 })

test('WR27 areas and bars of the cost differ without colour, have names, and a table has the numbers of the bars', () => {
  const html = renderToStaticMarkup(createElement(CostChartPicture, { chart, unit: 'usd', pace: 0.00001, limit: 6 }))
  for (const texture of ['lines', 'dots', 'rungs']) expect(html).toContain(`fill="url(#cost-${texture})"`)
  for (const { label, total } of chart.series) {
    expect(html).toContain(`>${label}</text>`)
    expect(html).toContain(`>${formatUsd(total)}</text>`)
  }
  const paid = chart.intervals.filter(({ total }) => total > 0)
  expect(html.match(/<title>[^<]*\(architect /g)?.length).toBeGreaterThan(2)
  const block = intervalTable(chart, 'usd')
  expect(block.rows).toHaveLength(paid.length)
  const table = renderToStaticMarkup(createElement(TableBlock, { block }))
  for (const { total } of paid) expect(table).toContain(formatUsd(total))
})
