import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findHandoffLoops } from '../bench/loop-detectors.ts'
import { readTrace } from '../bench/read-trace.ts'

const folder = new URL('fixtures/healthy-traces/', import.meta.url)

describe('healthy traces', () => {
  const files = readdirSync(folder)

  test('LP29 there are traces of many kinds of work', () => {
    expect(files.length).toBeGreaterThanOrEqual(15)
  })

  test.each(files)('LP29 nothing is found in %s', (file) => {
    const messages = readTrace(new URL(file, folder))
    expect(messages.length).toBeGreaterThan(5)
    expect(findHandoffLoops(messages)).toEqual([])
  })
})
