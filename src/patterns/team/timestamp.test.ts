import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timestampOf } from './timestamp.ts'

test('TM24 timestamps are those that a clock would write, for every day of every year', () => {
  const most = Date.UTC(9999, 11, 31)
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(0, 0, 1), max: most }), (ms) => {
      expect(timestampOf(ms)).toBe(new Date(ms).toISOString())
    }),
  )
  for (const date of ['2000-02-29', '1900-03-01', '2100-02-28', '2024-12-31', '1970-01-01']) {
    expect(timestampOf(Date.parse(date))).toBe(`${date}T00:00:00.000Z`)
  }
})
