import { describe, expect, test } from 'vitest'
import { kappaStatistic } from './kappa.ts'

describe('kappaStatistic', () => {
  test('VO22 Fleiss’ own example: fourteen raters, ten subjects, five categories', () => {
    const table = [
      [0, 0, 0, 0, 14],
      [0, 2, 6, 4, 2],
      [0, 0, 3, 5, 6],
      [0, 3, 9, 2, 0],
      [2, 2, 8, 1, 1],
      [7, 7, 0, 0, 0],
      [3, 2, 6, 3, 0],
      [2, 5, 3, 2, 2],
      [6, 5, 2, 1, 0],
      [0, 2, 2, 3, 7],
    ]
    expect(kappaStatistic(table, 'fixed')).toBeCloseTo(0.21, 2)
  })

  test('VO22 with free marginals it is 1 for full agreement and below 0 for an even split', () => {
    expect(kappaStatistic([[4, 0, 0]], 'free')).toBe(1)
    expect(kappaStatistic([[2, 2]], 'free')).toBeCloseTo(-1 / 3, 12)
    expect(kappaStatistic([[3, 1]], 'free')).toBe(0)
    expect(kappaStatistic([[2, 1, 1]], 'free')).toBeCloseTo(-0.25, 12)
  })

  test('VO22 it is null without two raters, without two categories, or when chance agreement is certain', () => {
    for (const table of [[], [[]], [[5]], [[1, 0]], [[0, 0]]]) expect(kappaStatistic(table, 'free')).toBeNull()
    expect(
      kappaStatistic(
        [
          [5, 0],
          [5, 0],
        ],
        'fixed',
      ),
    ).toBeNull()
  })
})
