import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConditionNode, VariableValue } from '../condition/condition-tree.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'
import { parseCondition } from '../condition/parse-condition.ts'
import type { StaticFacts } from './unsatisfiable.ts'
import { findUnsatisfiable } from './unsatisfiable.ts'

const certain: StaticFacts = {
  types: new Map([
    ['x', 'number'],
    ['y', 'number'],
    ['name', 'string'],
    ['ok', 'boolean'],
    ['min', 'number'],
    ['off', 'boolean'],
    ['round', 'number'],
  ]),
  constants: new Map<string, VariableValue>([
    ['min', 5],
    ['off', false],
  ]),
  counts: new Set(['round']),
}

function tree(text: string): ConditionNode {
  const parsed = parseCondition(text, { agents: [], groups: [], variables: [...certain.types.keys()] })
  if (!parsed.ok) throw new Error(parsed.problems[0]?.message)
  return parsed.tree
}

describe('conditions that can never hold', () => {
  test.each([
    ['false', 'always false'],
    ['not true', 'always true'],
    ['x > 5 and x < 3', "no value of 'x'"],
    ['x > 5 and x <= 5', "no value of 'x'"],
    ['x >= 5 and not x >= 5', 'cannot both hold'],
    ['x == 1 and x == 2', "no value of 'x'"],
    ['x == 3 and x != 3', "no value of 'x'"],
    ['x >= 4 and x <= 4 and x != 4', "no value of 'x'"],
    ['5 < x and 3 > x', "no value of 'x'"],
    ['x > 5 and draft is done and x < 3', "no value of 'x'"],
    ['not (x <= 5 or x >= 3)', "no value of 'x'"],
    ['(x > 5 and x < 3) or (x > 9 and x < 1)', 'none of its alternatives'],
    ['x > {{ min }} and x < 4', "no value of 'x'"],
    ['{{ min }} > 7', "'min' is 5, and nobody sets it"],
    ['min != 5', "'min' is 5, and nobody sets it"],
    ['3 > 4', 'always false'],
    ['off', "'off' is false, and nobody sets it"],
    ['ok and not ok', 'cannot both hold'],
    ['ok and ok == false', "no value of 'ok'"],
    ['the draft is done and not The  draft is done', 'cannot both hold'],
    ['name == "a" and name == "b"', "no value of 'name'"],
    ['x == "five"', 'compares a number with a string'],
    ['not name == 3', 'compares a string with a number'],
    ['name < "b"', 'a string is neither less nor more'],
    ['x and ok', "'x' is a number, and never true or false"],
    ['round < 0', "no value of 'round'"],
  ])('TF16 %s', (text, reason) => {
    expect(findUnsatisfiable(tree(text), certain)?.reason).toContain(reason)
  })

  test.each([
    'true',
    'x > 5 or x < 3',
    'x >= 5 and x <= 5',
    'x != 1 and x != 2',
    'x < 3 and y > 5',
    'min == 5',
    'not off',
    'round <= 0',
    'unknown_thing > 3 and unknown_thing < 8',
    'the draft is done and the draft is long',
    '(x > 5 and x < 3) or ok',
    'name == "a" and name != "b"',
    'x > y and x < y',
  ])('TF16 may hold: %s', (text) => {
    expect(findUnsatisfiable(tree(text), certain)).toBeUndefined()
  })

  test('TF16 a condition of many alternatives, or of many parts, is not taken apart', () => {
    expect(findUnsatisfiable(tree(`${'x > 5 and '.repeat(600)}x < 3`), certain)).toBeUndefined()
    expect(findUnsatisfiable(tree(`${'x > 5 and '.repeat(400)}x < 3`), certain)).toBeDefined()
    const many = Array.from({ length: 12 }, (_, at) => `(x == ${at} or y == ${at})`).join(' and ')
    expect(findUnsatisfiable(tree(many), certain)).toBeUndefined()
  })

  test('TF16 what is said never to hold holds for no values', () => {
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
    let nevers = 0
    fc.assert(
      fc.property(condition, fc.array(values, { minLength: 8, maxLength: 8 }), (text, cases) => {
        const read = tree(text)
        if (!findUnsatisfiable(read, certain)) return
        nevers++
        for (const { done, ...variables } of cases) {
          const state = { variables: { ...variables, min: 5, off: false }, verdict: () => done }
          expect(evaluateCondition(read, state).value).not.toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
    expect(nevers).toBeGreaterThan(100)
  })
})
