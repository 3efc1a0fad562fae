import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copyJson, frozenCopy } from './copy-json.ts'

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))

test('copies equal the value and share nothing with it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const before = JSON.stringify(value)
      const [copy, frozen] = [copyJson(value), frozenCopy(value)]
      expect([JSON.stringify(copy), JSON.stringify(frozen)]).toEqual([before, before])
      expect(isFrozen(frozen)).toBe(true)
      if (typeof value !== 'object' || value === null) return
      expect(Object.isFrozen(value) || Object.isFrozen(copy)).toBe(false)
      expect(copy).not.toBe(value)
    }),
  )
})

test('a field named `__proto__` is copied as a field; values that are no JSON stay the same objects', () => {
  const value = JSON.parse('{"__proto__": {"polluted": true}}') as object
  const copy = copyJson(value)
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":true}}')
  const bytes = new Uint8Array(2)
  expect(frozenCopy({ bytes }).bytes).toBe(bytes)
})
