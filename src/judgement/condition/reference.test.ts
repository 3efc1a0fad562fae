import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Truth, VariableValue } from './condition-tree.ts'
import { evaluateCondition } from './evaluate-condition.ts'
import { parseCondition } from './parse-condition.ts'

/* A second, separate account of what conditions mean: its own trees, its own printer, its own arithmetic. */

type Side = { value: VariableValue } | { name: string; braces: boolean }
type Idea =
  | { is: 'all' | 'some'; of: Idea[] }
  | { is: 'no'; of: Idea }
  | { is: 'relation'; left: Side; sign: string; right: Side }
  | { is: 'flag'; name: string }
  | { is: 'written'; value: boolean }
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
const leaf: fc.Arbitrary<Idea> = fc.oneof(
  fc.record({
    is: fc.constant('relation' as const),
    left: side,
    sign: fc.constantFrom('==', '!=', '<', '<=', '>', '>='),
    right: side,
  }),
  fc.record({ is: fc.constant('flag' as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ is: fc.constant('written' as const), value: fc.boolean() }),
  fc.record({ is: fc.constant('sentence' as const), text: fc.constantFrom(...SENTENCES) }),
)
const { idea } = fc.letrec<{ idea: Idea }>((tie) => ({
  idea: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaf,
    fc.record({ is: fc.constant('no' as const), of: tie('idea') }),
    fc.record({
      is: fc.constantFrom('all' as const, 'some' as const),
      of: fc.array(tie('idea'), { minLength: 2, maxLength: 4 }),
    }),
  ),
}))
const variables = fc.dictionary(fc.constantFrom(...NAMES), value)
const verdicts = fc.dictionary(fc.constantFrom(...SENTENCES), fc.boolean())

/** As few parentheses as the precedence allows, or one pair too many; keywords in some case. */
function print(thought: Idea, style: () => number, tightness = 0): string {
  const [own, text] = printed(thought, style)
  return own < tightness || style() % 5 === 0 ? `(${text})` : text
}

function printed(thought: Idea, style: () => number): [number, string] {
  if (thought.is === 'sentence') return [9, /\b(?:and|or)\b|\(/.test(thought.text) ? `"${thought.text}"` : thought.text]
  if (thought.is === 'written') return [9, String(thought.value)]
  if (thought.is === 'flag') return [9, thought.name]
  if (thought.is === 'relation') {
    const blank = style() % 2 ? ' ' : ''
    return [9, [shown(thought.left), thought.sign, shown(thought.right)].join(blank)]
  }
  if (thought.is === 'no') return [3, `${cased('not', style)} ${print(thought.of, style, 3)}`]
  const [own, word] = thought.is === 'all' ? [2, 'and'] : [1, 'or']
  return [own, thought.of.map((part) => print(part, style, own + 1)).join(` ${cased(word, style)} `)]
}

function cased(word: string, style: () => number): string {
  return style() % 2 ? word : word.toUpperCase()
}

function shown(side: Side): string {
  if ('name' in side) return side.braces ? `{{ ${side.name} }}` : side.name
  return typeof side.value === 'string'
    ? `"${side.value.replace(/["\\]/g, (sign) => `\\${sign}`)}"`
    : String(side.value)
}

/** 1 true, 0 false, ½ unknown: and is the least, or the greatest, not what is left to 1. */
function weight(thought: Idea, known: Record<string, VariableValue>, said: Record<string, Truth>): number {
  if ('sign' in thought) return relation(looked(thought.left, known), thought.sign, looked(thought.right, known))
  if (thought.is === 'written') return thought.value ? 1 : 0
  if (thought.is === 'flag') return number(known[thought.name])
  if ('text' in thought) return number(said[thought.text])
  if (thought.is === 'no') return 1 - weight(thought.of, known, said)
  const parts = thought.of.map((part) => weight(part, known, said))
  return thought.is === 'all' ? Math.min(...parts) : Math.max(...parts)
}

function number(truth: unknown): number {
  return truth === true ? 1 : truth === false ? 0 : 0.5
}

function looked(side: Side, known: Record<string, VariableValue>): VariableValue | undefined {
  return 'name' in side ? known[side.name] : side.value
}

function relation(left: VariableValue | undefined, sign: string, right: VariableValue | undefined): number {
  if (left === undefined || right === undefined || typeof left !== typeof right) return 0.5
  const same = Object.is(left, right) || left === right
  if (sign.length === 2 && sign !== '<=' && sign !== '>=') return number(same === (sign === '=='))
  if (typeof left !== 'number' || typeof right !== 'number') return 0.5
  const order = Math.sign(left - right)
  return number(order === 0 ? sign.endsWith('=') : sign.startsWith(order < 0 ? '<' : '>'))
}

function styled(seeds: number[]): () => number {
  let at = 0
  return () => seeds[at++ % seeds.length] ?? 0
}

const seeds = fc.array(fc.nat(9), { minLength: 1, maxLength: 12 })
const truths: readonly Truth[] = [true, false, 'unknown']

function read(text: string) {
  const result = parseCondition(text, { agents: [], groups: [], variables: NAMES })
  if (!result.ok) throw new Error(`${text}: ${result.problems.map(({ message }) => message).join('; ')}`)
  return result.tree
}

describe('CN12 the reference', () => {
  test('CN12 any tree, printed and read back, has the value that the reference gives it', () => {
    fc.assert(
      fc.property(idea, variables, verdicts, seeds, (thought, known, said, seed) => {
        const tree = read(print(thought, styled(seed)))
        const { value } = evaluateCondition(tree, { variables: known, verdict: (text) => said[text] })
        expect(number(value)).toBe(weight(thought, known, said))
      }),
      { numRuns: 2000 },
    )
  })

  test('CN12 the exact part alone has the value that the reference gives it', () => {
    fc.assert(
      fc.property(idea, variables, seeds, (thought, known, seed) => {
        const tree = read(print(thought, styled(seed)))
        const { value } = evaluateCondition(tree, { variables: known, verdict: () => undefined })
        expect(number(value)).toBe(weight(thought, known, {}))
      }),
      { numRuns: 2000 },
    )
  })

  test('CN9 where no sentence occurs twice, exactly those are open that can change the value, or make it hold', () => {
    const texts = SENTENCES.slice(0, 4)
    fc.assert(
      fc.property(idea, variables, seeds, (thought, known, seed) => {
        const used = sentencesIn(thought)
        fc.pre(used.length <= 4 && new Set(used).size === used.length && used.every((text) => texts.includes(text)))
        const tree = read(print(thought, styled(seed)))
        const { open, neededForTrue } = evaluateCondition(tree, { variables: known, verdict: () => undefined })
        const outcomes = assignments(used).map((said) => ({ said, value: weight(thought, known, said) }))
        const changes = used.filter((text) => outcomes.some((each) => varies(thought, known, each.said, text)))
        const raises = used.filter((text) =>
          outcomes.some(({ said, value }) => value === 1 && weight(thought, known, { ...said, [text]: 'unknown' }) < 1),
        )
        expect([open.toSorted(), neededForTrue.toSorted()]).toEqual([changes.toSorted(), raises.toSorted()])
      }),
      { numRuns: 1000 },
    )
  })
})

function varies(
  thought: Idea,
  known: Record<string, VariableValue>,
  said: Record<string, Truth>,
  text: string,
): boolean {
  return new Set(truths.map((truth) => weight(thought, known, { ...said, [text]: truth }))).size > 1
}

function sentencesIn(thought: Idea): string[] {
  if (thought.is === 'sentence') return [thought.text]
  if (thought.is === 'no') return sentencesIn(thought.of)
  return 'of' in thought ? thought.of.flatMap(sentencesIn) : []
}

function assignments(texts: readonly string[]): Record<string, Truth>[] {
  return texts.reduce<Record<string, Truth>[]>(
    (all, text) => all.flatMap((said) => truths.map((truth) => ({ ...said, [text]: truth }))),
    [{}],
  )
}
