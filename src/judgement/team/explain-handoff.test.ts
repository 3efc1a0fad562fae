import { describe, expect, test } from 'vitest'
import type { VariableValue } from '../condition/condition-tree.ts'
import { explainHandoff } from './explain-handoff.ts'
import { parseAssignments } from './parse-assignments.ts'
import { teamSchema } from './team-schema.ts'

const team = teamSchema.parse({
  name: 'Gates',
  agents: [
    { name: 'writer', outputs: { word_count: 'number', tone: 'string', final: 'boolean' } },
    { name: 'reviewer' },
    { name: 'publisher' },
    { name: 'handler' },
  ],
  context_variables: { min_words: 500 },
  handoffs: [
    { from_agent: 'writer', to_agent: 'reviewer', condition: 'draft is complete and word_count >= {{ min_words }}' },
    { from_agent: 'writer', to_agent: 'publisher', condition: 'final', priority: 2 },
    {
      from_agent: 'any_agent',
      to_agent: 'handler',
      condition: 'error detected or the tone is {{ tone }}',
      priority: 10,
    },
    { from_agent: 'publisher', to_agent: 'previous_agent', condition: 'it cannot be published' },
    { from_agent: 'user', to_agent: 'handler', condition: 'the user complains' },
  ],
})

const rudeTone = { tone: 'rude' }
const toneSentence = 'the tone is {{ tone }}'

describe('explainHandoff', () => {
  test('TF21 every applicable rule is listed in order, each part with its value and reason', () => {
    const { decision, rules } = explainHandoff(team, 'writer', {
      ...{ variables: { ...rudeTone, word_count: 700, final: false } },
      ...{ assume: ['draft is complete'], deny: [toneSentence] },
    })
    expect(decision).toEqual({ to: 'reviewer', by: 'verdict' })
    expect(rules).toEqual([
      {
        ...{ from: 'any_agent', to: 'handler', priority: 10, holds: false },
        parts: [
          { text: 'error detected', kind: 'exact', value: false, reason: 'error_detected is false' },
          { text: 'the tone is "rude"', kind: 'semantic', value: false, reason: 'denied' },
        ],
      },
      {
        ...{ from: 'writer', to: 'publisher', priority: 2, holds: false },
        parts: [{ text: 'final', kind: 'exact', value: false, reason: 'final is false' }],
      },
      {
        ...{ from: 'writer', to: 'reviewer', priority: 1, holds: true },
        parts: [
          { text: 'draft is complete', kind: 'semantic', value: true, reason: 'assumed' },
          {
            ...{ text: 'word_count >= {{ min_words }}', kind: 'exact', value: true },
            reason: expect.stringMatching(/word_count is 700.*min_words is 500/),
          },
        ],
      },
    ])
  })

  test('TF21 a sentence without a verdict is unknown, and while it can change the outcome there is no decision', () => {
    const variables = { ...rudeTone, word_count: 700 }
    const { decision, open, rules } = explainHandoff(team, 'writer', { variables })
    expect(decision).toEqual({ to: null, by: 'undecided' })
    expect(open).toEqual(['the tone is "rude"', 'draft is complete'])
    expect(rules.map(({ holds }) => holds)).toEqual(['unknown', 'unknown', 'unknown'])
    const decided = explainHandoff(team, 'writer', { variables: { ...variables, word_count: 3 }, deny: [toneSentence] })
    expect(decided).toMatchObject({ decision: { to: 'user', by: 'after_work' }, open: [] })
  })

  test('TF21 exact parts decide alone', () => {
    const variables = { ...rudeTone, error_detected: true }
    expect(explainHandoff(team, 'writer', { variables }).decision).toEqual({ to: 'handler', by: 'exact' })
    expect(explainHandoff(team, 'handler').rules).toEqual([])
  })

  test('TF21 after_work_behavior decides when no rule holds', () => {
    const decide = (after_work_behavior: 'return_to_user' | 'terminate' | 'continue') =>
      explainHandoff({ ...team, after_work_behavior }, 'handler').decision
    expect(decide('return_to_user')).toEqual({ to: 'user', by: 'after_work' })
    expect(decide('terminate')).toEqual({ to: null, by: 'after_work' })
    expect(decide('continue')).toEqual({ to: 'handler', by: 'after_work' })
    const assumptions = { deny: ['the user complains'] }
    expect(explainHandoff(team, 'user', assumptions).decision).toEqual({ to: 'writer', by: 'after_work' })
    expect(explainHandoff(team, 'user', { assume: ['The user complains.'] }).decision.to).toBe('handler')
  })

  test('TF21 the default values are those after the first turn of a run', () => {
    const rule = (from_agent: string, condition: string) => ({ from_agent, to_agent: 'd', condition })
    const fresh = teamSchema.parse({
      name: 'T',
      agents: ['a', 'b', 'c', 'd'].map((name) => ({ name })),
      groups: [{ name: 'g', kind: 'parallel', members: ['a', 'b'] }],
      handoffs: [
        rule('a', 'a complete and not b complete and a_load == 1 and b_load == 0 and round == 1 and last_agent == "a"'),
        rule('g', 'g complete and a complete and b complete and not c complete and iteration_count == 1'),
        rule('user', 'round == 0 and iteration_count == 0 and not a complete and not error detected'),
      ],
    })
    for (const from of ['a', 'g', 'user'])
      expect(explainHandoff(fresh, from).decision).toEqual({ to: 'd', by: 'exact' })
  })

  test('TF21 sentences match whatever their case and blanks; an unknown sentence throws invalid_input', () => {
    const assumptions = {
      variables: { ...rudeTone, word_count: 900, final: false },
      assume: ['  Draft IS   complete. '],
      deny: [toneSentence],
    }
    expect(explainHandoff(team, 'writer', assumptions).decision.to).toBe('reviewer')
    expect(() => explainHandoff(team, 'writer', { assume: ['draft is complet'] })).toThrow(
      expect.objectContaining({ code: 'invalid_input', hint: "did you mean 'draft is complete'?" }),
    )
    const both = { assume: ['draft is complete'], deny: ['draft is complete'] }
    expect(() => explainHandoff(team, 'writer', both)).toThrow(/is given in both `--assume` and `--deny`/)
    expect(() => explainHandoff(team, 'writr')).toThrow(expect.objectContaining({ code: 'unknown_agent' }))
  })
})

describe('after an error', () => {
  test('TF21 only rules that refer to error_detected apply, as in a run, and sentences stay unknown', () => {
    const failed = { variables: { ...rudeTone, word_count: 700, final: true, error_detected: true } }
    const { decision, rules, open } = explainHandoff(team, 'writer', { ...failed, assume: [toneSentence] })
    expect(decision).toEqual({ to: 'handler', by: 'exact' })
    expect(rules.map(({ to, parts }) => [to, parts.map(({ value }) => value)])).toEqual([
      ['handler', [true, 'unknown']],
    ])
    expect(open).toEqual([])
  })

  test('TF21 an error that no rule handles fails the run', () => {
    const { decision, reason } = explainHandoff(team, 'handler', { variables: { error_detected: true } })
    expect(decision).toEqual({ to: null, by: 'after_work' })
    expect(reason).toBe('no rule handles the error: the run fails')
  })

  test('TF21 an agent whose turn failed is not complete', () => {
    const errorTeam = teamSchema.parse({
      ...{ name: 'T', agents: [{ name: 'a' }, { name: 'b' }] },
      handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'error detected and not a complete' }],
    })
    const { decision } = explainHandoff(errorTeam, 'a', { variables: { error_detected: true } })
    expect(decision).toEqual({ to: 'b', by: 'exact' })
  })
})

describe('parseAssignments', () => {
  test.each<[string, VariableValue]>([
    ['word_count=12', 12],
    ['word_count= -1.5e2 ', -150],
    ['tone=5', '5'],
    ['tone="true"', 'true'],
    ['tone=a=b', 'a=b'],
    ['final=false', false],
    ['round=3', 3],
    ['min_words=1', 1],
    ['writer_load=2', 2],
  ])('TF22 %s is parsed with the type of the variable', (pair, value) => {
    expect(Object.values(parseAssignments(team, [pair]))).toEqual([value])
  })

  test.each([
    ['word_count=many', /'word_count' must be a number, not 'many'/],
    ['word_count=', /must be a number/],
    ['word_count=NaN', /must be a number/],
    ['final=yes', /must be a boolean/],
    ['wrd_count=1', /no variable 'wrd_count'; known: word_count/],
    ['word_count', /must be NAME=VALUE/],
    ['=1', /must be NAME=VALUE/],
  ])('TF22 %s is rejected', (pair, message) => {
    expect(() => parseAssignments(team, [pair])).toThrow(message)
  })

  test('TF22 the type of an undeclared variable follows from its comparisons, else from the value', () => {
    const untyped = teamSchema.parse({
      ...{ name: 'T', agents: [{ name: 'a' }, { name: 'b' }] },
      handoffs: [{ from_agent: 'a', to_agent: 'b', condition: 'score > 3 and the tone is {{ tone }}' }],
    })
    expect(parseAssignments(untyped, ['score=4'])).toEqual({ score: 4 })
    expect(() => parseAssignments(untyped, ['score=high'])).toThrow("'score' must be a number")
    expect(parseAssignments(untyped, ['tone=4'])).toEqual({ tone: 4 })
    expect(parseAssignments(untyped, ['tone=warm'])).toEqual({ tone: 'warm' })
  })
})
