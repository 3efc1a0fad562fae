import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Truth, VariableValue } from './condition-tree.ts'
import { evaluateCondition } from './evaluate-condition.ts'
import { parseCondition } from './parse-condition.ts'

/* An independent reference implementation of conditions (differential testing): its own tree, printer and evaluator. */

type Side = { value: VariableValue } | { name: string; braces: boolean }
type Reference =
  | { is: 'all' | 'some'; of: Reference[] }
  | { is: 'no'; of: Reference }
  | { is: 'relation'; left: Side; sign: string; right: Side }
  | { is: 'flag'; name: string }
  | { is: 'literal'; value: boolean }
  | { is: 'sentence'; text: string }

const NAMES = ['alpha', 'beta', 'gamma', 'delta', 'größe', 'last_one']
const SENTENCES = [
  'draft is ready',
  'all tests pass',
  'the text is not final',
  '报告 完成',
  'salt and pepper',
  'a or (b',
]

const value: fc.Arbitrary<VariableValue> = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.5, -2.25, 1e6),
  fc.boolean(),
  fc.constantFrom('', 'a', 'A', '1', 'true', '" or true', 'and', "it's", '\\', 'x > 3'),
)
const side: fc.Arbitrary<Side> = fc.oneof(
  fc.record({ value }),
  fc.record({ name: fc.constantFrom(...NAMES), braces: fc.boolean() }),
)
const leaf: fc.Arbitrary<Reference> = fc.oneof(
  fc.record({
    is: fc.constant('relation' as const),
    left: side,
    sign: fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
    right: side,
  }),
  fc.record({ is: fc.constant('flag' as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ is: fc.constant('literal' as const), value: fc.boolean() }),
  fc.record({ is: fc.constant('sentence' as const), text: fc.constantFrom(...SENTENCES) }),
)
const { reference } = fc.letrec<{ reference: Reference }>((tie) => ({
  reference: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaf,
    fc.record({ is: fc.constant('no' as const), of: tie('reference') }),
    fc.record({
      is: fc.constantFrom('all' as const, 'some' as const),
      of: fc.array(tie('reference'), { minLength: 2, maxLength: 4 }),
    }),
  ),
}))
const variables = fc.dictionary(fc.constantFrom(...NAMES), value)
const verdicts = fc.dictionary(fc.constantFrom(...SENTENCES), fc.boolean())

/** Prints with minimal or redundant parentheses, and keywords in upper or lower case. */
function print(tree: Reference, style: () => number, tightness = 0): string {
  const [own, text] = printNode(tree, style)
  return own < tightness || style() % 5 === 0 ? `(${text})` : text
}

function printNode(tree: Reference, style: () => number): [number, string] {
  if (tree.is === 'sentence') return [9, /\b(?:and|or)\b|\(/.test(tree.text) ? `"${tree.text}"` : tree.text]
  if (tree.is === 'literal') return [9, String(tree.value)]
  if (tree.is === 'flag') return [9, tree.name]
  if (tree.is === 'relation') {
    const blank = style() % 2 ? ' ' : ''
    return [9, [printSide(tree.left), tree.sign, printSide(tree.right)].join(blank)]
  }
  if (tree.is === 'no') return [3, `${withCase('not', style)} ${print(tree.of, style, 3)}`]
  const [own, word] = tree.is === 'all' ? [2, 'and'] : [1, 'or']
  return [own, tree.of.map((part) => print(part, style, own + 1)).join(` ${withCase(word, style)} `)]
}

function withCase(word: string, style: () => number): string {
  return style() % 2 ? word : word.toUpperCase()
}

function printSide(side: Side): string {
  if ('name' in side) return side.braces ? `{{ ${side.name} }}` : side.name
  return typeof side.value === 'string'
    ? `"${side.value.replace(/["\\]/g, (sign) => `\\${sign}`)}"`
    : String(side.value)
}

/** 1 is true, 0 false, ½ unknown: `and` is the minimum, `or` the maximum, `not` the complement. */
function truthValue(tree: Reference, known: Record<string, VariableValue>, judged: Record<string, Truth>): number {
  if ('sign' in tree) return relation(resolveSide(tree.left, known), tree.sign, resolveSide(tree.right, known))
  if (tree.is === 'literal') return tree.value ? 1 : 0
  if (tree.is === 'flag') return toNumber(known[tree.name])
  if ('text' in tree) return toNumber(judged[tree.text])
  if (tree.is === 'no') return 1 - truthValue(tree.of, known, judged)
  const parts = tree.of.map((part) => truthValue(part, known, judged))
  return tree.is === 'all' ? Math.min(...parts) : Math.max(...parts)
}

function toNumber(truth: unknown): number {
  return truth === true ? 1 : truth === false ? 0 : 0.5
}

function resolveSide(side: Side, known: Record<string, VariableValue>): VariableValue | undefined {
  return 'name' in side ? known[side.name] : side.value
}

function relation(left: VariableValue | undefined, sign: string, right: VariableValue | undefined): number {
  if (left === undefined || right === undefined || typeof left !== typeof right) return 0.5
  const same = Object.is(left, right) || left === right
  if (sign.length === 2 && sign !== '<=' && sign !== '>=') return toNumber(same === (sign === '=='))
  if (typeof left !== 'number' || typeof right !== 'number') return 0.5
  const order = Math.sign(left - right)
  return toNumber(order === 0 ? sign.endsWith('=') : sign.startsWith(order < 0 ? '<' : '>'))
}

function cycle(seeds: number[]): () => number {
  let index = 0
  return () => seeds[index++ % seeds.length] ?? 0
}

const seeds = fc.array(fc.nat(9), { minLength: 1, maxLength: 12 })
const truths: readonly Truth[] = [true, false, 'unknown']

function parseTree(text: string) {
  const result = parseCondition(text, { agents: [], groups: [], variables: NAMES })
  if (!result.ok) throw new Error(`${text}: ${result.problems.map(({ message }) => message).join('; ')}`)
  return result.tree
}

describe('reference implementation', () => {
  test('any printed and parsed condition has the value of the reference implementation', () => {
    fc.assert(
      fc.property(reference, variables, verdicts, seeds, (expected, known, judged, seed) => {
        const tree = parseTree(print(expected, cycle(seed)))
        const { value } = evaluateCondition(tree, { variables: known, verdict: (text) => judged[text] })
        expect(toNumber(value)).toBe(truthValue(expected, known, judged))
      }),
      { numRuns: 2000 },
    )
  })

  test('without verdicts it has the value of the reference implementation', () => {
    fc.assert(
      fc.property(reference, variables, seeds, (expected, known, seed) => {
        const tree = parseTree(print(expected, cycle(seed)))
        const { value } = evaluateCondition(tree, { variables: known, verdict: () => undefined })
        expect(toNumber(value)).toBe(truthValue(expected, known, {}))
      }),
      { numRuns: 2000 },
    )
  })

  test('CN9 when no sentence occurs twice, exactly the sentences that can change the value are open', () => {
    const texts = SENTENCES.slice(0, 4)
    fc.assert(
      fc.property(reference, variables, seeds, (expected, known, seed) => {
        const used = sentencesIn(expected)
        fc.pre(used.length <= 4 && new Set(used).size === used.length && used.every((text) => texts.includes(text)))
        const tree = parseTree(print(expected, cycle(seed)))
        const { open, neededForTrue } = evaluateCondition(tree, { variables: known, verdict: () => undefined })
        const outcomes = assignments(used).map((judged) => ({ judged, value: truthValue(expected, known, judged) }))
        const changes = used.filter((text) => outcomes.some(({ judged }) => varies(expected, known, judged, text)))
        const raises = used.filter((text) =>
          outcomes.some(
            ({ judged, value }) => value === 1 && truthValue(expected, known, { ...judged, [text]: 'unknown' }) < 1,
          ),
        )
        expect([open.toSorted(), neededForTrue.toSorted()]).toEqual([changes.toSorted(), raises.toSorted()])
      }),
      { numRuns: 1000 },
    )
  })
})

function varies(
  tree: Reference,
  known: Record<string, VariableValue>,
  judged: Record<string, Truth>,
  text: string,
): boolean {
  return new Set(truths.map((truth) => truthValue(tree, known, { ...judged, [text]: truth }))).size > 1
}

function sentencesIn(tree: Reference): string[] {
  if (tree.is === 'sentence') return [tree.text]
  if (tree.is === 'no') return sentencesIn(tree.of)
  return 'of' in tree ? tree.of.flatMap(sentencesIn) : []
}

function assignments(texts: readonly string[]): Record<string, Truth>[] {
  return texts.reduce<Record<string, Truth>[]>(
    (all, text) => all.flatMap((judged) => truths.map((truth) => ({ ...judged, [text]: truth }))),
    [{}],
  )
}
