import { describe, expect, test } from 'vitest'
import type { ConditionProblem } from './condition-tree.ts'
import { parseCondition } from './parse-condition.ts'

const names = { agents: ['writer'], groups: ['panel'], variables: ['source_count'] }

function findProblems(text: string): ConditionProblem[] {
  const result = parseCondition(text, names)
  return result.ok ? [] : result.problems
}

/** The part of the text that the first problem is about, and its message with the hint. */
function firstProblem(text: string): [string, string] {
  const [problem] = findProblems(text)
  if (problem === undefined) return ['no problem', '']
  const { offset, length, message, hint } = problem
  return [text.slice(offset, offset + length), `${message}; ${hint ?? ''}`]
}

describe('CN10 malformed conditions', () => {
  test.each([
    ['', '', /condition is empty/],
    ['  \n ', '  \n ', /condition is empty/],
    ['...', '...', /condition is empty/],
    ['x = 3', '=', /write '=='/],
    ['x=3', '=', /write '=='/],
    ['x === 3', '===', /write '=='/],
    ['x !== 3', '!==', /write '!='/],
    ['x <> 3', '<>', /write '!='/],
    ['x => 3', '=>', /write '>='/],
    ['x =< 3', '=<', /write '<='/],
    ['x ≥ 3', '≥', /write '>='/],
    ['x ≤ 3', '≤', /write '<='/],
    ['x ≠ 3', '≠', /write '!='/],
    ['x >> 3', '>>', /not an operator of conditions; use one of/],
    ['a && b', '&&', /write 'and'/],
    ['a || b', '||', /write 'or'/],
    ['!ready', '!', /write 'not'/],
    ['a and !b', '!', /write 'not'/],
    ['1 < x < 5', '1 < x < 5', /two comparisons.*; write '1 < x and x < 5'/],
    ['a == b == true', 'a == b == true', /write 'a == b and b == true'/],
    ['x > 3 y > 4', 'x > 3 y > 4', /two comparisons.*; join/],
    ['source count >= 5', 'source count', /did you mean 'source_count'/],
    ['iteration count >= 5', 'iteration count', /did you mean 'iteration_count'/],
    ['word count >= 5', 'word count', /such as 'word_count'/],
    ['x >= 500 words', '500 words', /one value on each side/],
    ['x == not y', 'not y', /one value on each side/],
    ['the result is x > 3', 'the result is x', /one value on each side/],
    ['x == not', 'not', /neither a number nor a variable name/],
    ['"never closed', '"never closed', /never closed; close it with "/],
    ["x == 'open", "'open", /never closed; close it with '/],
    ['“open and "', '“open and "', /close it with ”/],
    ['(a and (b or c)', '(', /'\(' is never closed/],
    ['a and (b', '(', /'\(' is never closed/],
    ['(', '(', /'\(' is never closed/],
    ['a) or b', ')', /'\)' has no matching '\('/],
    [')', ')', /'\)' has no matching '\('/],
    ['(a))', ')', /'\)' has no matching '\('/],
    ['()', '(', /parentheses are empty/],
    ['a and ()', '(', /parentheses are empty/],
    ['a (b)', '(', /'and' or 'or' is missing before '\('/],
    ['(a) b', 'b', /'and' or 'or' is missing before 'b'/],
    ['(a) (b)', '(', /missing before '\('/],
    ['(a) not b', 'not', /missing before 'not'/],
    ['(x) > 3', '>', /parentheses/],
    ['x > (3)', '>', /value to compare is missing.*without parentheses/],
    ['x ==', '==', /value to compare is missing/],
    ['== 3', '==', /value to compare is missing/],
    ['x == and y', '==', /value to compare is missing/],
    ['x > > y', '>', /value to compare is missing/],
    ['a and', 'and', /missing after 'and'/],
    ['a or', 'or', /missing after 'or'/],
    ['not', 'not', /missing after 'not'/],
    ['a and not', 'not', /missing after 'not'/],
    ['and a', 'and', /missing before 'and'/],
    ['or', 'or', /missing before 'or'/],
    ['a and or b', 'and', /missing after 'and'/],
    ['(and a)', 'and', /missing before 'and'/],
    ['(a and)', 'and', /missing after 'and'/],
    ['x > {{ y', '{{ y', /'\{\{' is never closed/],
    ['x > {{ }}', '{{ }}', /no variable name/],
    ['x > y }}', '}}', /'\}\}' has no matching '\{\{'/],
    ['{{ a b }} holds', '{{ a b }}', /'a b' is not a variable name/],
    ['{{ a | upper }}', '{{ a | upper }}', /write a single name/],
    ['"over {{ }} things"', '"over {{ }} things"', /no variable name/],
    ['"over {{ things"', '"over {{ things"', /do not match/],
    ['x == "{{ y }}"', '"{{ y }}"', /literal text; remove the quotes/],
    ['x == writer', 'writer', /agent or group.*"writer"/],
    ['panel != x', 'panel', /agent or group.*"panel"/],
    ['x > 1,000', '1,000', /write '1000'/],
    ['x > 80%', '80%', /neither a number nor a variable name/],
    ['x > $y', '$y', /neither a number nor a variable name/],
    ['x > 1e999', '1e999', /too large/],
    ['count between 3 and 5', '5', /number alone is not a condition.*compare it/],
    ['""', '""', /quotes are empty/],
    ['a and "  "', '"  "', /quotes are empty/],
  ])('CN10 %j is rejected at %j', (text, expectedPart, expectedMessage) => {
    const [part, message] = firstProblem(text)
    expect(part).toBe(expectedPart)
    expect(message).toMatch(expectedMessage)
  })

  test('CN10 all problems are reported in order', () => {
    expect(findProblems('source count > 3 and 1 < x < 2 or ready').map(({ offset }) => offset)).toEqual([0, 21])
    expect(findProblems('a && b || c').map(({ hint }) => hint)).toEqual(["write 'and'", "write 'or'"])
  })

  test('CN10 a structural error is reported once, without consequential errors', () => {
    expect(findProblems('(a and (b and')).toHaveLength(1)
    expect(findProblems('((((')).toHaveLength(1)
    expect(findProblems('a) and b) and c)')).toHaveLength(1)
  })

  test('CN10 a message cites only the beginning of a long part', () => {
    const page = 'word '.repeat(5000)
    for (const text of [`${page} > 3`, `x > ${'8%'.repeat(5000)}`, `(a) ${'b'.repeat(9000)}`, `{{ ${page} }}`]) {
      expect(findProblems(text).map(({ message, hint }) => `${message}${hint}`.length < 400)).toEqual([true])
    }
  })

  test('CN10 offsets count UTF-16 units, whatever the script', () => {
    const text = '报告 🎉 完成 and x = 3'
    expect(findProblems(text)).toMatchObject([{ offset: text.indexOf('='), length: 1 }])
  })
})

describe('CN13 size', () => {
  test('CN13 a condition nested too deeply is rejected without a stack overflow', () => {
    for (const deep of [`${'('.repeat(50_000)}a`, `${'not '.repeat(50_000)}a`, '(not '.repeat(50_000)]) {
      expect(findProblems(deep)).toMatchObject([
        { message: expect.stringContaining('nested more than 100 levels deep') },
      ])
    }
    expect(findProblems(`${'('.repeat(90)}a${')'.repeat(90)}`)).toEqual([])
  })

  test('CN13 long conditions are parsed', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`)
    expect(findProblems(words.join(' '))).toEqual([])
    expect(findProblems(words.join(' and '))).toEqual([])
    expect(findProblems(`${'.'.repeat(100_000)}a and x > 3`)).toEqual([])
    expect(findProblems(`"${'{{ a }} '.repeat(20_000)}"`)).toEqual([])
  })

  test('CN13 any text is either parsed or rejected with a position inside it', () => {
    for (const text of [
      '\u0000',
      '\ud800',
      '\ufeff',
      '(\u202e)',
      '{{{{',
      '}}}}',
      '"\\',
      '\\"',
      "'",
      '{{"}}',
      '!=',
      '<',
    ]) {
      for (const { offset, length } of findProblems(text)) {
        expect(offset).toBeGreaterThanOrEqual(0)
        expect(offset + length).toBeLessThanOrEqual(text.length)
      }
    }
  })
})
