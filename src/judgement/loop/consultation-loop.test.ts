import { describe, expect, test } from 'vitest'
import type { ConsultationWindow, PastConsultation } from './consultation-loop.ts'
import { judgeConsultation } from './consultation-loop.ts'

const limits = {
  max_exchanges_per_collaboration: 5,
  max_identical_questions: 2,
  max_active_collaborations_per_agent: 3,
  escalation_after_loops: 1,
}
const QUESTION = 'Which fields does the user model have?'
const ANSWER = 'The user model has a name, a mail address and a picture.'

function past(index: number, given: Partial<PastConsultation> = {}): PastConsultation {
  return {
    collaboration_id: `c${index}`,
    requesting_agent: 'frontend',
    specialist_agent: 'backend',
    question: QUESTION,
    state: 'answered',
    answer: ANSWER,
    ...given,
  }
}

/** The window in which every question of the asker that equals the new one matches it. */
function judge(history: readonly PastConsultation[], given: Partial<ConsultationWindow> = {}, question = QUESTION) {
  const matches = new Map(
    history.map((each) => [
      each.collaboration_id,
      each.question === question ? { same: true, similarity: 1 } : { same: false, similarity: 0.2 },
    ]),
  )
  return judgeConsultation({ requesting_agent: 'frontend', history, matches, active: [], ...given }, limits)
}

describe('identical questions', () => {
  test('LP15 the third time acts', () => {
    expect(judge([])).toEqual({ status: 'HEALTHY', findings: [], action: 'continue' })
    expect(judge([past(1)])).toMatchObject({ status: 'MAKING_PROGRESS', action: 'continue' })
    expect(judge([past(1), past(2)])).toMatchObject({ status: 'IDENTICAL_LOOP', action: 'nudge' })
  })

  test('LP15 the same question with a new answer each time is progress', () => {
    const answers = ['The build compiles now.', 'Forty tests ran and two failed.', 'All tests passed in the end.']
    const history = answers.map((answer, index) => past(index, { answer }))
    expect(judge(history)).toMatchObject({ status: 'MAKING_PROGRESS', findings: [] })
    expect(judge([...history, past(8, { answer: 'All the tests passed in the end.' })])).toMatchObject({
      status: 'IDENTICAL_LOOP',
      findings: [{ evidence: [{ collaboration_id: 'c2' }, { collaboration_id: 'c8' }] }],
    })
  })

  test('LP16 a short answer is new, unless the question is the same word for word, too', () => {
    const answered = (index: number, answer: string, question = QUESTION) => past(index, { answer, question })
    expect(judge([answered(1, 'It depends.'), answered(2, 'It depends.')])).toMatchObject({ status: 'IDENTICAL_LOOP' })
    expect(judge([answered(1, 'At 1.'), answered(2, 'At 2.')])).toMatchObject({ status: 'MAKING_PROGRESS' })
    const others = ['Is the cart done?', 'May guests pay?', 'Do we need a log?', 'Is mail sent?', 'Are prices net?']
    expect(judge(others.map((question, index) => answered(index, 'Yes.', question)))).toMatchObject({ findings: [] })
  })

  test('LP15 questions that wait for their answer count', () => {
    const { answer: _, ...open } = past(2, { state: 'open' })
    expect(judge([past(1), open])).toMatchObject({ status: 'IDENTICAL_LOOP' })
    expect(judge([{ ...open, collaboration_id: 'c1' }, open])).toMatchObject({ status: 'IDENTICAL_LOOP' })
  })

  test('LP17 failures of the outside world do not count', () => {
    const { answer: _, ...failed } = past(1, { state: 'failed' })
    const history = [1, 2, 3, 4, 5].map((index) => ({ ...failed, collaboration_id: `c${index}` }))
    expect(judge(history)).toMatchObject({ status: 'HEALTHY' })
    expect(judge([...history, past(6)])).toMatchObject({ status: 'MAKING_PROGRESS' })
  })

  test('LP18 an answer of a person starts the counts again, and so does a success', () => {
    expect(judge([past(1), past(2, { by_person: true })])).toMatchObject({ status: 'HEALTHY' })
    expect(judge([past(1, { rating: 5 }), past(2)])).toMatchObject({ status: 'MAKING_PROGRESS' })
    expect(judge([past(1, { rating: 3 }), past(2, { rating: 2 })])).toMatchObject({ status: 'IDENTICAL_LOOP' })
  })

  test('LP18 a good rating of an answer that was known before is no success', () => {
    const rated = [1, 2, 3].map((index) => past(index, { rating: 5 }))
    expect(judge(rated)).toMatchObject({ status: 'IDENTICAL_LOOP' })
  })

  test('LP22 a nudge, then another specialist, then a person', () => {
    const nudged = [past(1), past(2), past(3, { loops: ['identical_questions'] })]
    const rerouted = [...nudged, past(4, { loops: ['identical_questions'] })]
    expect(judge(nudged)).toMatchObject({ action: 'reroute' })
    expect(judge(rerouted)).toMatchObject({ action: 'escalate' })
    expect(judge([...rerouted, past(5, { by_person: true }), past(6), past(7)])).toMatchObject({ action: 'nudge' })
  })

  test('LP22 the nudge about one question is none about another', () => {
    const other = [1, 2, 3].map((index) =>
      past(index, {
        question: 'Where is the log?',
        answer: 'It is in the folder var.',
        loops: ['identical_questions'],
      }),
    )
    expect(judge([...other, past(8), past(9)])).toMatchObject({ status: 'IDENTICAL_LOOP', action: 'nudge' })
  })

  test('LP23 evidence has the consultations with their texts, cut to 500 characters, and similarities', () => {
    const long = 'The model has very many fields. '.repeat(40)
    const [first, second] = judge([past(1, { answer: long }), past(2, { answer: long })]).findings[0]?.evidence ?? []
    expect(first).toEqual({
      collaboration_id: 'c1',
      requesting_agent: 'frontend',
      specialist_agent: 'backend',
      question: QUESTION,
      answer: long.slice(0, 500),
      similarity: 1,
    })
    expect(second).toMatchObject({ collaboration_id: 'c2' })
  })
})

describe('alternation', () => {
  const move = (index: number, from: string, to: string, answer: string): PastConsultation =>
    past(index, { requesting_agent: from, specialist_agent: to, question: `Open point of ${from}?`, answer })
  const turns = (count: number, answer: (index: number) => string) =>
    Array.from({ length: count }, (_, index) =>
      index % 2 === 0
        ? move(index, 'backend', 'frontend', answer(index))
        : move(index, 'frontend', 'backend', answer(index)),
    )
  const shrug = () => 'That depends on the decision of the other side.'

  test('LP19 two agents that ask each other in turn without anything new are found', () => {
    expect(judge(turns(6, shrug))).toMatchObject({
      status: 'ALTERNATION',
      action: 'nudge',
      findings: [{ type: 'alternation', description: expect.stringContaining('frontend and backend') }],
    })
  })

  test('LP19 not while answers are new, and not before the fourth', () => {
    const facts = [
      'ids are UUIDs',
      'dates are ISO strings',
      'pages begin at one',
      'errors have a code',
      'lists are sorted',
      'names are unique',
    ]
    expect(judge(turns(6, (index) => facts[index] ?? ''))).not.toMatchObject({ status: 'ALTERNATION' })
    expect(judge(turns(4, shrug))).not.toMatchObject({ status: 'ALTERNATION' })
  })
})

describe('stall', () => {
  const questions = [
    'What is next?',
    'How to go on?',
    'Who decides this?',
    'Which option is right?',
    'Is it settled?',
    'Any news here?',
  ]
  const stalled = (specialists: readonly string[]) =>
    questions.map((question, index) =>
      past(index, {
        question,
        answer: 'I cannot say until the requirements are clear.',
        specialist_agent: specialists[index % specialists.length] ?? null,
      }),
    )

  test('LP20 four answers in a row without anything new are a stall', () => {
    expect(judge(stalled(['backend', 'devops']))).toMatchObject({ status: 'STALL', findings: [{ type: 'stall' }] })
    expect(judge(stalled(['backend']))).toMatchObject({ status: 'STALL', findings: [{ type: 'repeated_answers' }] })
    expect(judge(stalled(['backend']).slice(0, 4))).toMatchObject({ status: 'HEALTHY' })
  })

  test.each([
    ['files', (name: string) => `Is src/${name}.ts safe?`, (name: string) => `No problem was found in src/${name}.ts.`],
    [
      'words',
      (name: string) => `Is the ${name} page accessible?`,
      (name: string) => `Yes, the ${name} page meets the level.`,
    ],
    ['quoted texts', (name: string) => `How is “${name}” translated?`, () => 'As it is, it needs no translation.'],
  ])('LP16 the same answer about different %s is no stall', (_, question, answer) => {
    const names = ['login', 'cart', 'profile', 'search', 'orders', 'help', 'start']
    const history = names.map((name, index) => past(index, { question: question(name), answer: answer(name) }))
    expect(judge(history)).toMatchObject({ status: 'MAKING_PROGRESS', findings: [] })
  })

  test('LP16 short answers are never a stall', () => {
    const history = questions.map((question, index) => past(index, { question, answer: 'Yes.' }))
    expect(judge(history)).toMatchObject({ findings: [] })
  })
})

test('LP21 a fourth consultation while three wait is one too many: it goes on, and the finding is reported', () => {
  const open = [1, 2, 3].map((index) => past(index, { state: 'open' }))
  expect(judge([], { active: open.slice(1) })).toMatchObject({ status: 'HEALTHY' })
  expect(judge([], { active: open })).toMatchObject({
    status: 'TOO_MANY_ACTIVE',
    action: 'continue',
    findings: [{ type: 'too_many_concurrent', evidence: [{}, {}, {}] }],
  })
})
