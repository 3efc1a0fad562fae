import fc from 'fast-check'
import { expect, test } from 'vitest'
import { axisTicks, shortDuration } from './axis-ticks.ts'
import type { Gap } from './time-scale.ts'
import { createTimeScale, fitRange, panBy, viewWith, zoomAt } from './time-scale.ts'

const START = 1_800_000_000_000

/** Gaps one after another, at least a second apart. */
const gapLists = fc
  .array(fc.tuple(fc.integer({ min: 1000, max: 500_000 }), fc.integer({ min: 61_000, max: 9_000_000 })), {
    maxLength: 6,
  })
  .map((parts) => {
    let at = START
    return parts.map(([before, length]): Gap => {
      const from = at + before
      at = from + length
      return { from, to: at, width: 36 }
    })
  })
const scales = fc.record({
  gaps: gapLists,
  k: fc.double({ min: 1e-5, max: 0.4, noNaN: true }),
  from: fc.integer({ min: START - 100_000, max: START + 20_000_000 }),
})

test('WL6 time to pixels and back is the same time, inside and outside of gaps', () => {
  fc.assert(
    fc.property(scales, fc.integer({ min: -1_000_000, max: 30_000_000 }), ({ gaps, k, from }, offset) => {
      const scale = createTimeScale({ from, k }, gaps)
      const time = START + offset
      expect(Math.abs(scale.time(scale.x(time)) - time)).toBeLessThan(1)
      expect(scale.x(from)).toBeCloseTo(0, 6)
      expect(scale.x(time + 1000)).toBeGreaterThan(scale.x(time))
    }),
  )
})

test('WL6 a gap has its fixed width at every scale', () => {
  fc.assert(
    fc.property(scales, ({ gaps, k, from }) => {
      const scale = createTimeScale({ from, k }, gaps)
      for (const gap of gaps) expect(scale.x(gap.to) - scale.x(gap.from)).toBeCloseTo(36, 3)
    }),
  )
})

test('WL4 panning moves everything by the same pixels, and zooming keeps the time under the pointer', () => {
  const pixels = fc.integer({ min: -900, max: 900 })
  const factors = fc.double({ min: 0.5, max: 2, noNaN: true })
  fc.assert(
    fc.property(scales, pixels, factors, ({ gaps, k, from }, distance, factor) => {
      const scale = createTimeScale({ from, k }, gaps)
      const moved = createTimeScale(panBy(scale, distance), gaps)
      const time = START + 3_000_000
      expect(moved.x(time)).toBeCloseTo(scale.x(time) - distance, 2)
      const x = Math.abs(distance)
      const zoomed = createTimeScale(
        zoomAt(scale, { x, factor, width: 900 }, () => gaps),
        gaps,
      )
      expect(zoomed.x(scale.time(x))).toBeCloseTo(x, 2)
    }),
  )
})

test('a range fits between the margins, with the gaps inside it cut', () => {
  const gaps = [{ from: START + 60_000, to: START + 1_600_000, width: 36 }]
  const range = { from: START, to: START + 2_000_000 }
  const scale = createTimeScale(
    fitRange(range, { width: 900, left: 10, right: 16 }, () => gaps),
    gaps,
  )
  expect(scale.x(range.from)).toBeCloseTo(10, 3)
  expect(scale.x(range.to)).toBeCloseTo(884, 3)
  const held = viewWith(range.to, { x: 500, k: 0.001, width: 900 }, () => gaps)
  expect(createTimeScale(held, gaps).x(range.to)).toBeCloseTo(500, 3)
})

test('WL5 ticks stand on round local times, far enough apart, and never inside a gap', () => {
  fc.assert(
    fc.property(scales, ({ gaps, k, from }) => {
      const scale = createTimeScale({ from, k }, gaps)
      const ticks = axisTicks(scale, 1200, () => 3_600_000)
      for (const [index, tick] of ticks.entries()) {
        expect(gaps.some((gap) => tick.time > gap.from && tick.time < gap.to)).toBe(false)
        const before = ticks[index - 1]
        const between = before ? gaps.some((gap) => gap.from >= before.time && gap.to <= tick.time) : true
        if (before && !between) expect(tick.x - before.x).toBeGreaterThanOrEqual(55.9)
      }
    }),
  )
  const labels = axisTicks(createTimeScale({ from: START, k: 0.001 }, []), 200, () => 3_600_000).map(
    ({ label }) => label,
  )
  expect(labels).toEqual(['09:00', '09:01', '09:02', '09:03'])
})

test.each([
  [42_000, '42s'],
  [1_570_000, '26m'],
  [3_900_000, '1h 05m'],
  [273_600_000, '3d 4h'],
])('the length of a gap of %i ms is %s', (ms, text) => {
  expect(shortDuration(ms)).toBe(text)
})
