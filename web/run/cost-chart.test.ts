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

test('WR35 the cost jumps where a response came, and is level between two of them', () => {
  const html = renderToStaticMarkup(createElement(CostChartPicture, { chart, unit: 'usd', pace: null, limit: null }))
  const lines = [...html.matchAll(/<path d="M([^"]+)" class="chart-line"/g)].map(([, points = '']) =>
    points.split('L').map((point) => point.split(',').map(Number) as [number, number]),
  )
  expect(lines).toHaveLength(chart.series.length)
  let jumps = 0
  for (const points of lines)
    for (const [index, [x, y]] of points.entries()) {
      const [beforeX, beforeY] = points[index - 1] ?? [x, y]
      expect(x === beforeX || y === beforeY).toBe(true)
      if (y !== beforeY) jumps += 1
    }
  expect(jumps).toBeGreaterThanOrEqual(chart.series.length)
  const areas = [...html.matchAll(/<path d="M([^"]+)Z" class="chart-area"/g)]
  expect(areas).toHaveLength(chart.series.length)
})
