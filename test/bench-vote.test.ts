import { describe, expect, test } from 'vitest'
import { formatQuestions, parseQuestions } from '../bench/vote-file.ts'
import { generateQuestions } from '../bench/vote-generator.ts'
import { levelRows, sizeRows, weightRows } from '../bench/vote-report.ts'
import { countVotes, countVotesUntilSettled, groupAnswers } from '../bench/vote-tally.ts'

describe('recorded answers', () => {
  test('every invalid line is reported with its number and problem', () => {
    const lines = [
      '{"question":"1 + 1","truth":2,"answers":["2",2,null]}',
      '',
      'no json',
      '{"question":1,"truth":"2","answers":["2"]}',
      '{"question":"q","answers":["2"]}',
      '{"question":"q","truth":"2","answers":[]}',
      '{"question":"q","truth":"2","answers":["2",{}]}',
    ]
    expect(parseQuestions(lines.slice(0, 2).join('\n'), 'a.jsonl')).toEqual([
      { question: '1 + 1', truth: '2', answers: ['2', '2', null] },
    ])
    expect(() => parseQuestions(lines.join('\n'), 'a.jsonl')).toThrow(
      [
        'a.jsonl:3: not a JSON object',
        "a.jsonl:4: 'question' must be a string",
        "a.jsonl:5: 'truth' must be a string or a number",
        "a.jsonl:6: 'answers' must be a non-empty list",
        "a.jsonl:7: 'answers[1]' must be a string, a number or null",
      ].join('\n'),
    )
    expect(() => parseQuestions('\n', 'a.jsonl')).toThrow('a.jsonl contains no recorded answers')
  })

  test('generated questions are deterministic per seed and round-trip', () => {
    const size = { questions: 50, voters: 7 }
    const generated = generateQuestions({ seed: 3, ...size })
    expect(generated).toEqual(generateQuestions({ seed: 3, ...size }))
    expect(generated).not.toEqual(generateQuestions({ seed: 4, ...size }))
    expect(parseQuestions(formatQuestions(generated), 'x')).toEqual(generated)
  })

  test('generated questions follow the Beta(2, 0.5) difficulty', () => {
    const many = generateQuestions({ seed: 5, questions: 4000, voters: 21 })
    const shares = many.map(
      ({ truth, answers }) => answers.filter((answer) => answer === truth).length / answers.length,
    )
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
    // Beta(2, 0.5) has the mean 0.8, and more than a quarter of its mass lies above 0.98.
    expect(Math.abs(mean - 0.8)).toBeLessThan(0.03)
    expect(shares.filter((share) => share === 1).length / shares.length).toBeGreaterThan(0.2)
  })
})

describe('counting votes', () => {
  const question = groupAnswers({
    question: 'q',
    truth: '42',
    answers: ['42.', 'forty', null, ' 42 ', '42', '41', '41', '41'],
  })

  test('answers are grouped by normalised text; a missing answer is no vote; a tie is not right', () => {
    expect(countVotes(question, [0, 1, 2, 3])).toEqual({ right: true, tie: false, voters: 4, agreement: 2 / 3 })
    expect(countVotes(question, [0, 3, 4, 5, 6, 7])).toMatchObject({ right: false, tie: true })
    expect(countVotes(question, [2])).toMatchObject({ right: false, tie: false, agreement: 0 })
    expect(countVotes(question, [0, 5, 6], [3, 1, 1, 1, 1, 1, 1, 1])).toMatchObject({ right: true })
  })

  test('the exact stop has the result of the full vote; the Beta stop asks no more voters', () => {
    const questions = generateQuestions({ seed: 6, questions: 200, voters: 15 }).map(groupAnswers)
    const order = Array.from({ length: 15 }, (_, voter) => voter)
    for (const each of questions) {
      const [full, exact] = [countVotes(each, order), countVotesUntilSettled(each, order, { wave: 1 })]
      expect([exact.right, exact.tie]).toEqual([full.right, full.tie])
      expect(countVotesUntilSettled(each, order, { wave: 1, beta: 0.95 }).voters).toBeLessThanOrEqual(exact.voters)
      expect(
        countVotesUntilSettled(each, order, { wave: 4 }).voters % 4 === 0 ||
          countVotesUntilSettled(each, order, { wave: 4 }).voters === 15,
      ).toBe(true)
    }
  })

  test('the report contains every size, both stops, the agreement levels and the weighted vote', () => {
    const questions = generateQuestions({ seed: 7, questions: 300, voters: 12 }).map(groupAnswers)
    const { rows, all } = sizeRows(questions, 1)
    expect(all).toBe(12)
    expect(rows.map(({ label }) => label)).toEqual([
      '1 voter',
      '3 voters',
      '5 voters',
      '10 voters',
      '12 voters',
      'exact stop',
      'exact stop, waves of 3',
      'Beta stop at 0.95',
      'Beta stop at 0.95, waves of 2',
      'Beta stop at 0.95, 4, then 2',
      'Beta stop at 0.95, waves of 3',
    ])
    expect(rows[5]?.accuracy).toBe(rows[4]?.accuracy)
    expect(rows.map(({ error }) => (error ?? 1) > 0)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      true,
      true,
      true,
      false,
    ])
    expect(rows[0]?.accuracy).toBeLessThan(rows[4]?.accuracy ?? 0)
    expect(levelRows(questions).reduce((sum, { cases }) => sum + cases, 0)).toBe(150)
    for (const { plurality, weighted } of weightRows(questions)) expect(weighted).toBeGreaterThan(plurality - 3)
  })
})
