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

function evaluated(text: string, verdicts: Record<string, boolean> = {}): ConditionResult {
  const result = parseCondition(text, names)
  if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
  return evaluateCondition(result.tree, { variables, verdict: (leaf) => verdicts[leaf] })
}

describe('CN5 comparisons by kind', () => {
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
    expect(evaluated(text).value).toBe(value)
  })

  test.each([
    ['digits == 7', /a text cannot be compared with a number.*digits is "7"/],
    ['digits > 5', /a text cannot be compared with a number/],
    ['count == "7"', /a number cannot be compared with a text.*count is 7/],
    ['yes == 1', /true or false cannot be compared with a number/],
    ['yes == "true"', /true or false cannot be compared with a text/],
    ['zero == no', /a number cannot be compared with true or false/],
    ['name < "z"', /'<' orders numbers only, and these are texts/],
    ['name >= shout', /'>=' orders numbers only/],
    ['yes > no', /'>' orders numbers only, and these are true or false/],
    ['blank == 0', /a text cannot be compared with a number/],
  ])('CN5 %j compares what cannot be compared: unknown, and it says why', (text, reason) => {
    const { value, parts } = evaluated(text)
    expect(value).toBe('unknown')
    expect(parts).toMatchObject([{ kind: 'exact', value: 'unknown', reason: expect.stringMatching(reason) }])
  })
})

describe('CN6 what is missing', () => {
  test.each([
    ['missing > 3', /^missing is not set \(a text would stand in quotes: "missing"\)$/],
    ['3 > {{ missing }}', /^missing is not set$/],
    ['missing == missing', /^missing is not set/],
    ['missing != other', /missing is not set.*other is not set/],
    ['missing_fact', /^missing_fact is not set$/],
    ['lost', /^lost is not set$/],
    ['{{ missing }}', /^missing is not set$/],
    ['the plan fits {{ missing }}', /^missing is not set$/],
    ['nan == nan', /nan is no number/],
    ['nan > 3', /nan is no number/],
    ['constructor == 3', /constructor is not set/],
    ['__proto__ == 3', /__proto__ is not set/],
    ['toString_', /toString_ is not set/],
    ['round', /round is not set/],
    ['count_', /count_ is not set/],
    ['iteration_count', /iteration_count is 2, a number, not true or false/],
    ['last_agent', /last_agent is "writer", a text, not true or false/],
  ])('CN6 %j is unknown and names what is missing', (text, reason) => {
    const { value, parts, open } = evaluated(text, { 'the plan fits {{ missing }}': true })
    expect(value).toBe('unknown')
    expect(parts[0]?.reason).toMatch(reason)
    expect(open).toEqual([])
  })

  test('CN6 what a record inherits is not set', () => {
    const inherited: Record<string, VariableValue> = Object.create({ yes: true, count: 7 })
    const result = parseCondition('yes or count == 7', names)
    const evaluation = result.ok
      ? evaluateCondition(result.tree, { variables: inherited, verdict: () => true })
      : undefined
    expect(evaluation?.value).toBe('unknown')
  })

  test('CN6 a value that is no number, text, true or false is unknown, not converted', () => {
    const result = parseCondition('a == 1 or b or c == "x" or d > 0', names)
    const strange = { a: [1], b: {}, c: null, d: undefined } as unknown as Record<string, VariableValue>
    const evaluation = result.ok
      ? evaluateCondition(result.tree, { variables: strange, verdict: () => undefined })
      : undefined
    expect(evaluation).toMatchObject({ value: 'unknown', open: ['b'] })
    expect(evaluation?.parts.map(({ reason }) => reason)).toEqual([
      'a is no number, no text and not true or false',
      'nobody has judged it',
      'c is no number, no text and not true or false',
      'd is not set (a text would stand in quotes: "d")',
    ])
  })
})

describe('CN7 variables in sentences', () => {
  test('CN7 the value is put in as data: quoted, on one line, once', () => {
    const result = parseCondition('{{ title }} has {{ n }} words and fits {{ title }}', names)
    const asked: string[] = []
    const verdict = (leaf: string) => {
      asked.push(leaf)
      return true
    }
    const title = 'A "bold"\n\nstart {{ n }} \u2028 end\\'
    if (result.ok) evaluateCondition(result.tree, { variables: { title, n: 3 }, verdict })
    const said = '"A \\"bold\\" start {{ n }} end\\\\"'
    expect(asked).toEqual([`${said} has 3 words`, `fits ${said}`])
  })

  test('CN7 the verdict is asked for, and the part is reported, with the values in it', () => {
    const { parts, open } = evaluated('topic {{ name }} is done')
    expect(parts[0]?.text).toBe('topic "writer" is done')
    expect(open).toEqual(['topic "writer" is done'])
    expect(evaluated('topic {{ name }} is done', { 'topic "writer" is done': true }).value).toBe(true)
  })
})

describe('CN8 three values', () => {
  const said = { t: true, f: false }
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
    expect(evaluated(text, said).value).toBe(value)
  })

  test('CN8 every leaf is reported, also where the rest settled the value', () => {
    const { value, parts } = evaluated('count > 9 and draft is ready and missing > 1', {})
    expect(value).toBe(false)
    expect(parts).toEqual([
      { text: 'count > 9', kind: 'exact', value: false, reason: 'count is 7' },
      { text: 'draft is ready', kind: 'semantic', value: 'unknown', reason: 'nobody has judged it' },
      { text: 'missing > 1', kind: 'exact', value: 'unknown', reason: expect.stringContaining('missing is not set') },
    ])
  })
})

describe('CN9 what is still worth asking', () => {
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
    ['told and a', ['a'], ['a']],
    ['told or a', [], []],
    ['fits {{ gone }} or a', ['a'], ['a']],
    ['true', [], []],
  ])('CN9 of %j %j can change the value and %j can make it hold', (text, open, hopes) => {
    const evaluation = evaluated(text, { told: true })
    expect(evaluation.open).toEqual(open)
    expect(evaluation.neededForTrue).toEqual(hopes)
  })
})
