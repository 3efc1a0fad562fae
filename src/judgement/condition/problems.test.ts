import { describe, expect, test } from 'vitest'
import type { ConditionProblem } from './condition-tree.ts'
import { parseCondition } from './parse-condition.ts'

const names = { agents: ['writer'], groups: ['panel'], variables: ['source_count'] }

function problemsOf(text: string): ConditionProblem[] {
  const result = parseCondition(text, names)
  return result.ok ? [] : result.problems
}

/** The part of the text that the first problem is about, its message and its hint. */
function complaint(text: string): [string, string] {
  const [problem] = problemsOf(text)
  if (problem === undefined) return ['no problem', '']
  const { offset, length, message, hint } = problem
  return [text.slice(offset, offset + length), `${message}; ${hint ?? ''}`]
}

describe('CN10 what cannot be read', () => {
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
    ['x >> 3', '>>', /no operator; the operators are/],
    ['a && b', '&&', /write 'and'/],
    ['a || b', '||', /write 'or'/],
    ['!ready', '!', /write 'not'/],
    ['a and !b', '!', /write 'not'/],
    ['1 < x < 5', '1 < x < 5', /two comparisons in one; write '1 < x and x < 5'/],
    ['a == b == true', 'a == b == true', /write 'a == b and b == true'/],
    ['x > 3 y > 4', 'x > 3 y > 4', /two comparisons in one; join/],
    ['source count >= 5', 'source count', /did you mean 'source_count'/],
    ['iteration count >= 5', 'iteration count', /did you mean 'iteration_count'/],
    ['word count >= 5', 'word count', /such as 'word_count'/],
    ['x >= 500 words', '500 words', /one value on each side/],
    ['x == not y', 'not y', /one value on each side/],
    ['the result is x > 3', 'the result is x', /one value on each side/],
    ['x == not', 'not', /neither a number nor the name/],
    ['"never closed', '"never closed', /never closed; close it with "/],
    ["x == 'open", "'open", /never closed; close it with '/],
    ['“open and "', '“open and "', /close it with ”/],
    ['(a and (b or c)', '(', /'\(' is never closed/],
    ['a and (b', '(', /'\(' is never closed/],
    ['(', '(', /'\(' is never closed/],
    ['a) or b', ')', /'\)' closes nothing/],
    [')', ')', /'\)' closes nothing/],
    ['(a))', ')', /'\)' closes nothing/],
    ['()', '(', /nothing stands between/],
    ['a and ()', '(', /nothing stands between/],
    ['a (b)', '(', /'and' or 'or' is missing before '\('/],
    ['(a) b', 'b', /'and' or 'or' is missing before 'b'/],
    ['(a) (b)', '(', /missing before '\('/],
    ['(a) not b', 'not', /missing before 'not'/],
    ['(x) > 3', '>', /parentheses/],
    ['x > (3)', '>', /nothing to compare with.*no parentheses/],
    ['x ==', '==', /nothing to compare with/],
    ['== 3', '==', /nothing to compare with/],
    ['x == and y', '==', /nothing to compare with/],
    ['x > > y', '>', /nothing to compare with/],
    ['a and', 'and', /nothing follows 'and'/],
    ['a or', 'or', /nothing follows 'or'/],
    ['not', 'not', /nothing follows 'not'/],
    ['a and not', 'not', /nothing follows 'not'/],
    ['and a', 'and', /nothing stands before 'and'/],
    ['or', 'or', /nothing stands before 'or'/],
    ['a and or b', 'and', /nothing follows 'and'/],
    ['(and a)', 'and', /nothing stands before 'and'/],
    ['(a and)', 'and', /nothing follows 'and'/],
    ['x > {{ y', '{{ y', /'\{\{' is never closed/],
    ['x > {{ }}', '{{ }}', /names no variable/],
    ['x > y }}', '}}', /'\}\}' closes nothing/],
    ['{{ a b }} holds', '{{ a b }}', /'a b' is no name/],
    ['{{ a | upper }}', '{{ a | upper }}', /one name and nothing else/],
    ['"over {{ }} things"', '"over {{ }} things"', /names no variable/],
    ['"over {{ things"', '"over {{ things"', /do not match/],
    ['x == "{{ y }}"', '"{{ y }}"', /only text; without the quotes/],
    ['x == writer', 'writer', /one of the team.*"writer"/],
    ['panel != x', 'panel', /one of the team.*"panel"/],
    ['x > 1,000', '1,000', /write '1000'/],
    ['x > 80%', '80%', /neither a number nor the name/],
    ['x > $y', '$y', /neither a number nor the name/],
    ['x > 1e999', '1e999', /too large/],
    ['count between 3 and 5', '5', /number by itself.*compare it/],
    ['""', '""', /says nothing/],
    ['a and "  "', '"  "', /says nothing/],
  ])('CN10 %j is refused at %j', (text, place, words) => {
    const [where, said] = complaint(text)
    expect(where).toBe(place)
    expect(said).toMatch(words)
  })

  test('CN10 several wrong parts are all named, in order', () => {
    expect(problemsOf('source count > 3 and 1 < x < 2 or ready').map(({ offset }) => offset)).toEqual([0, 21])
    expect(problemsOf('a && b || c').map(({ hint }) => hint)).toEqual(["write 'and'", "write 'or'"])
  })

  test('CN10 a lost structure is reported once, without its echoes', () => {
    expect(problemsOf('(a and (b and')).toHaveLength(1)
    expect(problemsOf('((((')).toHaveLength(1)
    expect(problemsOf('a) and b) and c)')).toHaveLength(1)
  })

  test('CN10 a message cites the beginning of what is long', () => {
    const page = 'word '.repeat(5000)
    for (const text of [`${page} > 3`, `x > ${'8%'.repeat(5000)}`, `(a) ${'b'.repeat(9000)}`, `{{ ${page} }}`]) {
      expect(problemsOf(text).map(({ message, hint }) => `${message}${hint}`.length < 400)).toEqual([true])
    }
  })

  test('CN10 places are offsets into the text, whatever script stands before', () => {
    const text = '报告 🎉 完成 and x = 3'
    expect(problemsOf(text)).toMatchObject([{ offset: text.indexOf('='), length: 1 }])
  })
})

describe('CN13 size', () => {
  test('CN13 what is nested too deeply is refused instead of exhausting the stack', () => {
    for (const deep of [`${'('.repeat(50_000)}a`, `${'not '.repeat(50_000)}a`, '(not '.repeat(50_000)]) {
      expect(problemsOf(deep)).toMatchObject([{ message: expect.stringContaining('nested more than 100 deep') }])
    }
    expect(problemsOf(`${'('.repeat(90)}a${')'.repeat(90)}`)).toEqual([])
  })

  test('CN13 long conditions are read', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `word${index}`)
    expect(problemsOf(words.join(' '))).toEqual([])
    expect(problemsOf(words.join(' and '))).toEqual([])
    expect(problemsOf(`${'.'.repeat(100_000)}a and x > 3`)).toEqual([])
    expect(problemsOf(`"${'{{ a }} '.repeat(20_000)}"`)).toEqual([])
  })

  test('CN13 any text at all is either read or refused with a place inside it', () => {
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
      for (const { offset, length } of problemsOf(text)) {
        expect(offset).toBeGreaterThanOrEqual(0)
        expect(offset + length).toBeLessThanOrEqual(text.length)
      }
    }
  })
})
