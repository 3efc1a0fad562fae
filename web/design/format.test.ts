import { expect, test } from 'vitest'
import {
  capitalize,
  formatAge,
  formatBytes,
  formatCountOf,
  formatDayName,
  formatDuration,
  formatIdentifier,
  formatShare,
  formatTokens,
  formatUsd,
} from './format.ts'

test.each([
  [0, '0 ms'],
  [340, '340 ms'],
  [4_260, '4.2s'],
  [9_000, '9s'],
  [59_999, '59s'],
  [130_000, '2m 10s'],
  [120_000, '2m'],
  [4_320_000, '1h 12m'],
  [273_600_000, '3d 4h'],
  [Number.NaN, '–'],
])('WB4 a duration of %d ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

test.each([
  [300, 'now'],
  [31_000, '31s'],
  [2_400_000, '40m'],
  [4_320_000, '1h 12m'],
  [79_200_000, '22h'],
  [180_000_000, '2d'],
])('WB4 an age of %d ms is %s', (ms, text) => expect(formatAge(ms)).toBe(text))

test('WB4 tokens, dollars, shares and sizes', () => {
  expect([912, 8_400, 84_000, 999_999, 1_280_000].map(formatTokens)).toEqual(['912', '8.4k', '84k', '1.00M', '1.28M'])
  expect([null, 0, 0.0042, 0.031, 2.914].map(formatUsd)).toEqual(['–', '$0.00', '$0.0042', '$0.031', '$2.91'])
  expect([formatCountOf(1, 'run'), formatCountOf(1_284, 'run')]).toEqual(['1 run', '1,284 runs'])
  expect(formatShare(0.604)).toBe('60 %')
  expect([12, 1_234, 50_000_000].map(formatBytes)).toEqual(['12 B', '1.2 kB', '50 MB'])
})

test('WB4 nouns agree with their number, and identifiers are words', () => {
  expect([formatCountOf(1, 'more line'), formatCountOf(1_200, 'more line')]).toEqual([
    '1 more line',
    '1,200 more lines',
  ])
  expect(capitalize(formatIdentifier('task_assignment'))).toBe('Task assignment')
})

test('WB4 days have names relative to today, across a change of the clock', () => {
  const now = new Date(2026, 10, 16, 9).getTime()
  const at = (...date: [number, number, number, number]) => formatDayName(new Date(...date).getTime(), now)
  expect(at(2026, 10, 16, 0)).toBe('Today')
  expect(at(2026, 10, 15, 23)).toBe('Yesterday')
  expect(at(2026, 10, 12, 12)).toBe('Thursday 12 November')
  expect(at(2025, 10, 12, 12)).toBe('12 Nov 2025')
})
