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
  ])('VO26 a text that is a category or begins with it chooses it: %s', (text, chosen) => {
    expect(parseChosenCategory(text, two)).toBe(chosen)
  })

  test.each([
    ['The change is small and tested. So the answer is approve.', 'approve'],
    ['There are risks.\n\n**My final verdict: reject**', 'reject'],
    ['Approve at first sight, but it leaks. Therefore, in my view, the decision is to reject.', 'reject'],
    ['It checks its input. I think my vote is approve, because it is safe.', 'approve'],
  ])('VO26 a last sentence that names the choice chooses it: %s', (text, chosen) => {
    expect(parseChosenCategory(text, two)).toBe(chosen)
  })

  test.each([
    'Tests are missing. The answer is not approve.',
    'Who knows. The answer is approve or reject.',
    'Is the answer approve?',
    'The answer is approve. But that is only my view of a bad question.',
    'Others say the answer is approve. I am not so sure.',
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
  ])('VO26 a text that negates, questions or merely mentions a category chooses none: %s', (text) => {
    expect(parseChosenCategory(text, two)).toBeNull()
  })

  test('VO26 a category within another one, and names with symbols, are distinguished', () => {
    const changes = ['approve', 'approve with changes', 'c++', 'c']
    expect(parseChosenCategory('Approve with changes, please.', changes)).toBe('approve with changes')
    expect(parseChosenCategory('Approve.', changes)).toBe('approve')
    expect(parseChosenCategory('C++. It is fast.', changes)).toBe('c++')
    expect(findCategory('Approve With Changes!', changes)).toBe('approve with changes')
    expect(findCategory('Do not approve', changes)).toBeNull()
  })

  test('VO26 a category after other words of its clause is not chosen', () => {
    const prefix = fc.constantFrom('Do not', 'I would never', 'Nobody should', 'Hardly', 'They want to', 'We refuse to')
    const suffix = fc.constantFrom('', '.', ', because it is fine', ' this', '!')
    fc.assert(
      fc.property(prefix, fc.constantFrom(...two), suffix, (before, category, after) => {
        expect(parseChosenCategory(`${before} ${category}${after}`, two)).toBeNull()
      }),
    )
  })
})
