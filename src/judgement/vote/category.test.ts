import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findCategory, parseChosenCategory } from './category.ts'

const two = ['approve', 'reject']

describe('categories in prose', () => {
  test.each([
    ['Approve.', 'approve'],
    ['approve', 'approve'],
    ['**Approve**', 'approve'],
    ['Approve, because it does no harm.', 'approve'],
    ['Reject: it does not check its input.', 'reject'],
    ['I would reject this.', 'reject'],
    ['My recommendation is to approve.', 'approve'],
    ['Verdict: reject', 'reject'],
  ])('VO26 a text that is a category, or begins with it, has chosen it: %s', (text, chosen) => {
    expect(parseChosenCategory(text, two)).toBe(chosen)
  })

  test.each([
    'I would never approve this. It is a hole.',
    'Do not approve.',
    'Not approve',
    'Approve? No.',
    'Approve only if the tests pass.',
    'Approve, but only after changes.',
    'Approve. Or reject, who knows.',
    'approve or reject',
    'It is not my place to approve.',
    'Approving would be a mistake.',
    'disapprove',
    'We cannot approve',
    '',
  ])('VO26 a text that denies, doubts or merely mentions one has chosen none: %s', (text) => {
    expect(parseChosenCategory(text, two)).toBeNull()
  })

  test('VO26 one category within another, and names with signs, are told apart', () => {
    const changes = ['approve', 'approve with changes', 'c++', 'c']
    expect(parseChosenCategory('Approve with changes, please.', changes)).toBe('approve with changes')
    expect(parseChosenCategory('Approve.', changes)).toBe('approve')
    expect(parseChosenCategory('C++. It is fast.', changes)).toBe('c++')
    expect(findCategory('Approve With Changes!', changes)).toBe('approve with changes')
    expect(findCategory('Do not approve', changes)).toBeNull()
  })

  test('VO26 whatever stands before a category that is not its own clause, the text has not chosen it', () => {
    const before = fc.constantFrom('Do not', 'I would never', 'Nobody should', 'Hardly', 'They want to', 'We refuse to')
    const behind = fc.constantFrom('', '.', ', because it is fine', ' this', '!')
    fc.assert(
      fc.property(before, fc.constantFrom(...two), behind, (opening, category, rest) => {
        expect(parseChosenCategory(`${opening} ${category}${rest}`, two)).toBeNull()
      }),
    )
  })
})
