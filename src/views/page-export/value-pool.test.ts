import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createValuePool, valueFromPool } from './value-pool.ts'

describe('value pool', () => {
  test('any JSON value comes back, after a trip through JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value))
        const pool = createValuePool()
        pool.add(plain)
        const stored = JSON.parse(JSON.stringify(pool.entries))
        // A part can be the last entry if it equals the value; the value itself is always found again.
        const record = createValuePool()
        record.addRecord({ value: record.add(plain) })
        expect(valueFromPool(JSON.parse(JSON.stringify(record.entries)))).toEqual({ value: plain })
        expect(stored.length).toBeGreaterThan(0)
      }),
    )
  })

  test('equal strings, lists and objects are stored once', () => {
    const message = { role: 'user', parts: [{ kind: 'text', text: 'x'.repeat(1000) }] }
    const prompts = Array.from({ length: 100 }, (_, length) => Array.from({ length }, () => structuredClone(message)))
    const pool = createValuePool()
    pool.add(prompts)
    expect(JSON.stringify(pool.entries).length).toBeLessThan(20_000)
  })

  test('a field named __proto__ stays a field', () => {
    const pool = createValuePool()
    pool.add(JSON.parse('{"__proto__": {"polluted": true}}'))
    const value = valueFromPool(JSON.parse(JSON.stringify(pool.entries)))
    expect(Object.keys(value as object)).toEqual(['__proto__'])
    expect((value as { polluted?: boolean }).polluted).toBeUndefined()
  })
})
