import { describe, expect, test } from 'vitest'
import type { VariableValue } from './condition-tree.ts'
import type { ConditionResult } from './evaluate-condition.ts'
import { evaluateCondition } from './evaluate-condition.ts'
import { parseCondition } from './parse-condition.ts'

const names = { agents: ['writer', 'reviewer'], groups: [], variables: ['yes', 'no', 'lost'] }
const variables: Record<string, VariableValue> = {
  yes: true,
  no: false,
  count: 7,
  zero: 0,
  five: 5,
  ratio: 0.8,
  name: 'writer',
  shout: 'WRITER',
  digits: '7',
  blank: '',
  umlaut: 'größe',
  nan: Number.NaN,
  endless: Number.POSITIVE_INFINITY,
  writer_complete: true,
  reviewer_complete: false,
  error_detected: false,
  iteration_count: 2,
  last_agent: 'writer',
}

function evaluate(text: string, verdicts: Record<string, boolean> = {}): ConditionResult {
  const result = parseCondition(text, names)
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return evaluateCondition(result.tree, { variables, verdict: (leaf) => verdicts[leaf] })
}

describe('CN5 comparisons by type', () => {
  test.each([
    ['count == 7', true],
    ['count != 7', false],
    ['count > 7', false],
    ['count >= 7', true],
    ['count < 7.5', true],
    ['count <= 6.999', false],
    ['7 == count', true],
    ['5 < count', true],
    ['zero == -0', true],
    ['zero > -1', true],
    ['ratio >= 0.8', true],
    ['ratio > .8', false],
    ['count > five', true],
    ['count > {{ five }}', true],
    ['{{ five }} == five', true],
    ['endless > 1e300', true],
    ['name == "writer"', true],
    ['name == "Writer"', false],
    ['name != shout', true],
    ['name == last_agent', true],
    ['blank == ""', true],
    ['umlaut == "größe"', true],
    ['digits == "7"', true],
    ['yes == true', true],
    ['yes != TRUE', false],
    ['no == yes', false],
    ['1 == 1', true],
    ['"a" == "b"', false],
    ['2 < 1', false],
    ['true == true', true],
    ['iteration_count < {{ five }}', true],
  ])('CN5 %j is %s', (text, value) => {
    expect(evaluate(text).value).toBe(value)
  })

  test.each([
    ['digits == 7', /a text cannot be compared with a number.*digits is "7"/],
    ['digits > 5', /a text cannot be compared with a number/],
    ['count == "7"', /a number cannot be compared with a text.*count is 7/],
    ['yes == 1', /a boolean cannot be compared with a number/],
    ['yes == "true"', /a boolean cannot be compared with a text/],
    ['zero == no', /a number cannot be compared with a boolean/],
    ['name < "z"', /'<' compares numbers only, not texts/],
    ['name >= shout', /'>=' compares numbers only/],
    ['yes > no', /'>' compares numbers only, not booleans/],
    ['blank == 0', /a text cannot be compared with a number/],
  ])('CN5 %j compares different types: unknown, with the reason', (text, reason) => {
    const { value, parts } = evaluate(text)
    expect(value).toBe('unknown')
    expect(parts).toMatchObject([{ kind: 'exact', value: 'unknown', reason: expect.stringMatching(reason) }])
  })
})

describe('CN6 missing values', () => {
  test.each([
    ['missing > 3', /^missing is not set \(put text in quotes: "missing"\)$/],
    ['3 > {{ missing }}', /^missing is not set$/],
    ['missing == missing', /^missing is not set/],
    ['missing != other', /missing is not set.*other is not set/],
    ['missing_fact', /^missing_fact is not set$/],
    ['lost', /^lost is not set$/],
    ['{{ missing }}', /^missing is not set$/],
    ['the plan fits {{ missing }}', /^missing is not set$/],
    ['nan == nan', /nan is not a number/],
    ['nan > 3', /nan is not a number/],
    ['constructor == 3', /constructor is not set/],
    ['__proto__ == 3', /__proto__ is not set/],
    ['toString_', /toString_ is not set/],
    ['round', /round is not set/],
    ['count_', /count_ is not set/],
    ['iteration_count', /iteration_count is 2, a number, not a boolean/],
    ['last_agent', /last_agent is "writer", a text, not a boolean/],
  ])('CN6 %j is unknown, and the reason names the variable', (text, reason) => {
    const { value, parts, open } = evaluate(text, { 'the plan fits {{ missing }}': true })
    expect(value).toBe('unknown')
    expect(parts[0]?.reason).toMatch(reason)
    expect(open).toEqual([])
  })

  test('CN6 inherited properties are not variables', () => {
    const inherited: Record<string, VariableValue> = Object.create({ yes: true, count: 7 })
    const result = parseCondition('yes or count == 7', names)
    const evaluation = result.ok
      ? evaluateCondition(result.tree, { variables: inherited, verdict: () => true })
      : undefined
    expect(evaluation?.value).toBe('unknown')
  })

  test('CN6 a value of another type is unknown and never converted', () => {
    const result = parseCondition('a == 1 or b or c == "x" or d > 0', names)
    const strange = { a: [1], b: {}, c: null, d: undefined } as unknown as Record<string, VariableValue>
    const evaluation = result.ok
      ? evaluateCondition(result.tree, { variables: strange, verdict: () => undefined })
      : undefined
    expect(evaluation).toMatchObject({ value: 'unknown', open: ['b'] })
    expect(evaluation?.parts.map(({ reason }) => reason)).toEqual([
      'a is not a number, text or boolean',
      'not judged yet',
      'c is not a number, text or boolean',
      'd is not set (put text in quotes: "d")',
    ])
  })
})

describe('CN7 variables in sentences', () => {
  test('CN7 a value is inserted as data: quoted, on one line, in a single pass', () => {
    const result = parseCondition('{{ title }} has {{ n }} words and fits {{ title }}', names)
    const asked: string[] = []
    const verdict = (leaf: string) => {
      asked.push(leaf)
      return true
    }
    const title = 'A "bold"\n\nstart {{ n }} \u2028 end\\'
    if (result.ok) evaluateCondition(result.tree, { variables: { title, n: 3 }, verdict })
    const quoted = '"A \\"bold\\" start {{ n }} end\\\\"'
    expect(asked).toEqual([`${quoted} has 3 words`, `fits ${quoted}`])
  })

  test('CN7 verdicts and reported parts use the text with the values inserted', () => {
    const { parts, open } = evaluate('topic {{ name }} is done')
    expect(parts[0]?.text).toBe('topic "writer" is done')
    expect(open).toEqual(['topic "writer" is done'])
    expect(evaluate('topic {{ name }} is done', { 'topic "writer" is done': true }).value).toBe(true)
  })
})

describe('CN8 three-valued logic', () => {
  const verdicts = { t: true, f: false }
  test.each([
    ['t and t', true],
    ['t and f', false],
    ['f and f', false],
    ['t and u', 'unknown'],
    ['u and t', 'unknown'],
    ['f and u', false],
    ['u and f', false],
    ['u and u', 'unknown'],
    ['t or t', true],
    ['t or f', true],
    ['f or f', false],
    ['t or u', true],
    ['u or t', true],
    ['f or u', 'unknown'],
    ['u or f', 'unknown'],
    ['u or u', 'unknown'],
    ['not t', false],
    ['not f', true],
    ['not u', 'unknown'],
    ['not not t', true],
    ['not (u and f)', true],
    ['not (u or t)', false],
    ['u or not u', 'unknown'],
    ['t and missing_fact', 'unknown'],
    ['f and missing_fact', false],
    ['t or missing_fact', true],
    ['not missing_fact', 'unknown'],
    ['missing > 3 or count > 3', true],
    ['missing > 3 and count > 9', false],
    ['not missing > 3', 'unknown'],
    ['not digits == 7', 'unknown'],
    ['true or u', true],
    ['false or u', 'unknown'],
    ['writer complete and not reviewer complete', true],
    ['error detected or f', false],
    ['yes and (no or t) and not f', true],
  ])('CN8 %j is %s', (text, value) => {
    expect(evaluate(text, verdicts).value).toBe(value)
  })

  test('CN8 every leaf is reported, even when other leaves decide the value', () => {
    const { value, parts } = evaluate('count > 9 and draft is ready and missing > 1', {})
    expect(value).toBe(false)
    expect(parts).toEqual([
      { text: 'count > 9', kind: 'exact', value: false, reason: 'count is 7' },
      { text: 'draft is ready', kind: 'semantic', value: 'unknown', reason: 'not judged yet' },
      { text: 'missing > 1', kind: 'exact', value: 'unknown', reason: expect.stringContaining('missing is not set') },
    ])
  })
})

describe('CN9 open semantic leaves', () => {
  test.each([
    ['draft is ready', ['draft is ready'], ['draft is ready']],
    ['not draft is ready', ['draft is ready'], ['draft is ready']],
    ['yes or draft is ready', [], []],
    ['no or draft is ready', ['draft is ready'], ['draft is ready']],
    ['no and draft is ready', [], []],
    ['yes and draft is ready', ['draft is ready'], ['draft is ready']],
    ['lost and draft is ready', ['draft is ready'], []],
    ['lost or draft is ready', ['draft is ready'], ['draft is ready']],
    ['not (lost or draft is ready)', ['draft is ready'], []],
    ['not (lost and draft is ready)', ['draft is ready'], ['draft is ready']],
    ['(no and a) or b', ['b'], ['b']],
    ['(yes or a) and b', ['b'], ['b']],
    ['(lost and a) or b', ['a', 'b'], ['b']],
    ['(lost or a) and b', ['a', 'b'], ['a', 'b']],
    ['(lost and a) and lost', ['a'], []],
    ['(lost or a) and lost', [], []],
    ['a and b and a', ['a', 'b'], ['a', 'b']],
    ['judged and a', ['a'], ['a']],
    ['judged or a', [], []],
    ['fits {{ gone }} or a', ['a'], ['a']],
    ['true', [], []],
  ])('CN9 in %j, %j can change the value and %j can make it true', (text, open, neededForTrue) => {
    const evaluation = evaluate(text, { judged: true })
    expect(evaluation.open).toEqual(open)
    expect(evaluation.neededForTrue).toEqual(neededForTrue)
  })
})
