import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConditionNode } from '../condition/condition-tree.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'
import { parseCondition } from '../condition/parse-condition.ts'
import type { StaticFacts } from './unsatisfiable.ts'
import { findUnsatisfiable } from './unsatisfiable.ts'

const facts: StaticFacts = {
  types: new Map([
    ['x', 'number'],
    ['y', 'number'],
    ['name', 'string'],
    ['ok', 'boolean'],
    ['min', 'number'],
    ['off', 'boolean'],
    ['round', 'number'],
  ]),
  counts: new Set(['round']),
}

function parseTree(text: string): ConditionNode {
  const parsed = parseCondition(text, { agents: [], groups: [], variables: [...facts.types.keys()] })
  if (!parsed.ok) throw new Error(parsed.problems[0]?.message)
  return parsed.tree
}

describe('findUnsatisfiable', () => {
  test.each([
    ['false', 'always false'],
    ['not true', 'always true'],
    ['x > 5 and x < 3', "no value of 'x'"],
    ['x > 5 and x <= 5', "no value of 'x'"],
    ['x >= 5 and not x >= 5', 'cannot be both true and false'],
    ['x == 1 and x == 2', "no value of 'x'"],
    ['x == 3 and x != 3', "no value of 'x'"],
    ['x >= 4 and x <= 4 and x != 4', "no value of 'x'"],
    ['5 < x and 3 > x', "no value of 'x'"],
    ['x > 5 and draft is done and x < 3', "no value of 'x'"],
    ['not (x <= 5 or x >= 3)', "no value of 'x'"],
    ['(x > 5 and x < 3) or (x > 9 and x < 1)', 'none of its alternatives'],
    ['3 > 4', 'always false'],
    ['ok and not ok', 'cannot be both true and false'],
    ['ok and ok == false', "no value of 'ok'"],
    ['the draft is done and not The  draft is done', 'cannot be both true and false'],
    ['name == "a" and name == "b"', "no value of 'name'"],
    ['x == "five"', 'compares a number with a string'],
    ['not name == 3', 'compares a string with a number'],
    ['name < "b"', "'<' compares numbers only, not a string"],
    ['x and ok', "'x' is a number, not a boolean"],
    ['round < 0', "no value of 'round'"],
    ['error_detected and the error is transient', 'after a failed turn'],
    ['error detected and (x > 5 or not it is hopeless) and it is late', 'none of its alternatives'],
  ])('TF16 can never be true: %s', (text, reason) => {
    expect(findUnsatisfiable(parseTree(text), facts)?.reason).toContain(reason)
  })

  test.each([
    'true',
    'x > 5 or x < 3',
    'x >= 5 and x <= 5',
    'x != 1 and x != 2',
    'x < 3 and y > 5',
    'x > {{ min }} and x < 4',
    '{{ min }} > 7',
    'min != 5',
    'off',
    'name == "us" and not name == "US"',
    'error_detected or the error is transient',
    'not error_detected and the draft is done',
    'round <= 0',
    'unknown_thing > 3 and unknown_thing < 8',
    'the draft is done and the draft is long',
    '(x > 5 and x < 3) or ok',
    'name == "a" and name != "b"',
    'x > y and x < y',
  ])('TF16 can be true: %s', (text) => {
    expect(findUnsatisfiable(parseTree(text), facts)).toBeUndefined()
  })

  test('TF16 a condition with too many alternatives or parts is not analysed', () => {
    expect(findUnsatisfiable(parseTree(`${'x > 5 and '.repeat(600)}x < 3`), facts)).toBeUndefined()
    expect(findUnsatisfiable(parseTree(`${'x > 5 and '.repeat(400)}x < 3`), facts)).toBeDefined()
    const many = Array.from({ length: 12 }, (_, index) => `(x == ${index} or y == ${index})`).join(' and ')
    expect(findUnsatisfiable(parseTree(many), facts)).toBeUndefined()
  })

  test('TF16 an unsatisfiable condition is true for no values', () => {
    const leaf = fc.oneof(
      fc
        .tuple(fc.constantFrom('x', 'y', 'min'), fc.constantFrom('<', '<=', '>', '>=', '==', '!='), fc.nat(4))
        .map((part) => part.join(' ')),
      fc.constantFrom('ok', 'off', 'the draft is done', 'true', 'false', 'ok == true', 'round < 1', 'x > y'),
    )
    const condition = fc.letrec<{ any: string }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.tuple(tie('any'), fc.constantFrom('and', 'or'), tie('any')).map(([a, op, b]) => `(${a} ${op} ${b})`),
        tie('any').map((inner) => `not (${inner})`),
      ),
    })).any
    const values = fc.record({ x: fc.nat(5), y: fc.nat(5), ok: fc.boolean(), round: fc.nat(3), done: fc.boolean() })
    let unsatisfiable = 0
    fc.assert(
      fc.property(condition, fc.array(values, { minLength: 8, maxLength: 8 }), (text, cases) => {
        const tree = parseTree(text)
        if (!findUnsatisfiable(tree, facts)) return
        unsatisfiable++
        for (const { done, ...variables } of cases) {
          const context = { variables: { ...variables, min: 5, off: false }, verdict: () => done }
          expect(evaluateCondition(tree, context).value).not.toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
    expect(unsatisfiable).toBeGreaterThan(100)
  })
})
