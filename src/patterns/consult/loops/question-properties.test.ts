import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PastConsultation } from '../../../judgement/loop/consultation-loop.ts'
import { judgeConsultation } from '../../../judgement/loop/consultation-loop.ts'
import type { Context } from '../../../kernel/context.ts'
import { wordEmbedder } from '../../../testing/word-embedder.ts'
import { compareQuestions } from './compare-questions.ts'

/* Whatever an agent asks: the question loop on generated sequences, with the embedder of words. */

const limits = {
  ...{ max_exchanges_per_collaboration: 5, max_identical_questions: 2, max_active_collaborations_per_agent: 3 },
  escalation_after_loops: 1,
}
const SUBJECTS = ['invoice', 'warehouse', 'customer', 'shipment', 'password', 'discount', 'calendar', 'newsletter']
const ASPECTS = ['owner', 'format', 'lifetime', 'storage', 'validation', 'history', 'encoding', 'migration']
const VERBS = ['depend', 'differ', 'suffer', 'profit', 'originate']

interface Topic {
  subject: string
  aspect: string
  verb: string
}

const topic: fc.Arbitrary<Topic> = fc.record({
  subject: fc.constantFrom(...SUBJECTS),
  aspect: fc.constantFrom(...ASPECTS),
  verb: fc.constantFrom(...VERBS),
})
/** Topics no two of which share subject and aspect. */
const topics = fc.uniqueArray(topic, {
  minLength: 1,
  maxLength: 10,
  selector: ({ subject, aspect }) => `${subject} ${aspect}`,
})

const askAbout = ({ subject, aspect, verb }: Topic) => `Where does the ${subject} ${aspect} ${verb} from?`
/** Other words around the same content, in another order. */
const PARAPHRASES: ((about: Topic) => string)[] = [
  askAbout,
  ({ subject, aspect, verb }) => `Please, where does the ${subject} ${aspect} ${verb} from?`,
  ({ subject, aspect, verb }) => `The ${subject} ${aspect}: where does it ${verb} from?`,
  (about) => `${askAbout(about).toUpperCase()}!`,
  ({ subject, aspect, verb }) => `So where, again, does the ${subject} ${aspect} now ${verb} from?`,
]
const answerAbout = ({ subject, aspect }: Topic) => `The ${aspect} of the ${subject} is set in its own module.`

type Asked = Partial<PastConsultation> & { question: string }

/** The judgements of each question by those before it, as the pattern makes them. */
async function judgeAll(asked: readonly Asked[]) {
  const step = (_: string, effect: (signal: AbortSignal) => unknown) => effect(new AbortController().signal)
  const context = { embedder: wordEmbedder(), step } as unknown as Pick<Context, 'embedder' | 'step'>
  const history: PastConsultation[] = []
  const judgements = []
  for (const [index, consultation] of asked.entries()) {
    const { question } = consultation
    const earlier = history.map((past) => past.question)
    const { matches } = await compareQuestions(context, { question, earlier, key: `k${index}` })
    const { status, findings, action } = judgeConsultation(
      {
        ...{ requesting_agent: 'asking', history, active: [] },
        matches: new Map(
          history.flatMap(({ collaboration_id: id }, each) => (matches[each] ? [[id, matches[each]]] : [])),
        ),
      },
      limits,
    )
    judgements.push({ status, action })
    history.push({
      ...{ collaboration_id: `c${index}`, requesting_agent: 'asking', specialist_agent: 'answering' },
      ...{ state: 'answered', loops: findings.map(({ type }) => type) },
      ...consultation,
    } as PastConsultation)
  }
  return judgements
}

const paraphrases = (count: number) =>
  fc.array(fc.integer({ min: 0, max: PARAPHRASES.length - 1 }), { minLength: count, maxLength: count })
const phrase = (index: number, about: Topic) => (PARAPHRASES[index] ?? askAbout)(about)

describe('the question loop', () => {
  test('LP15 distinct questions with distinct answers never alarm', async () => {
    await fc.assert(
      fc.asyncProperty(topics, async (all) => {
        const judged = await judgeAll(all.map((each) => ({ question: askAbout(each), answer: answerAbout(each) })))
        expect(judged.map(({ action }) => action)).toEqual(all.map(() => 'continue'))
      }),
    )
  })

  test('LP15 a question in other words acts at the third time, whatever was asked before', async () => {
    await fc.assert(
      fc.asyncProperty(topics, paraphrases(3), async ([about, ...others], phrasings) => {
        if (!about) return
        const before = others.map((each) => ({ question: askAbout(each), answer: answerAbout(each) }))
        const repeated = phrasings.map((index) => ({ question: phrase(index, about), answer: answerAbout(about) }))
        const judged = await judgeAll([...before, ...repeated])
        expect(judged.map(({ action }) => action)).toEqual([
          ...[...before, ...repeated].slice(0, -1).map(() => 'continue'),
          'nudge',
        ])
      }),
    )
  })

  test('LP22 repetitions without end are answered with a nudge, another specialist and then people only', async () => {
    await fc.assert(
      fc.asyncProperty(topic, paraphrases(7), async (about, phrasings) => {
        const judged = await judgeAll(
          phrasings.map((index) => ({ question: phrase(index, about), answer: answerAbout(about) })),
        )
        expect(judged.map(({ action }) => action)).toEqual([
          ...['continue', 'continue', 'nudge', 'reroute', 'escalate', 'escalate', 'escalate'],
        ])
      }),
    )
  })

  test('LP18 an answer of a person, or a success that was news, starts the count again', async () => {
    const reset = fc.constantFrom(
      { by_person: true },
      { rating: 5, answer: 'Since Monday it is read from the environment.' },
    )
    await fc.assert(
      fc.asyncProperty(topic, paraphrases(4), reset, async (about, phrasings, success) => {
        const asked = phrasings.map((index) => ({ question: phrase(index, about), answer: answerAbout(about) }))
        const [first, second, ...rest] = asked
        if (!first || !second) return
        const judged = await judgeAll([first, { ...second, ...success }, ...rest])
        expect(judged.map(({ action }) => action)).toEqual(asked.map(() => 'continue'))
      }),
    )
  })

  test('LP17 failures of the outside world never count', async () => {
    const failures = fc.nat({ max: 8 })
    await fc.assert(
      fc.asyncProperty(topic, failures, async (about, count) => {
        const question = askAbout(about)
        const failed = Array.from({ length: count }, () => ({ question, state: 'failed' as const }))
        const judged = await judgeAll([...failed, { question, answer: answerAbout(about) }, ...failed, { question }])
        expect(judged.every(({ action }) => action === 'continue')).toBe(true)
      }),
    )
  })
})

const DIFFERENCES: Readonly<Record<string, (about: Topic, seed: number) => [string, string]>> = {
  opposites: ({ subject, aspect }) => [
    `Should we increase the ${aspect} of the ${subject}?`,
    `Should we decrease the ${aspect} of the ${subject}?`,
  ],
  numbers: ({ subject, aspect }, seed) => [
    `Is a ${aspect} of ${seed} right for the ${subject}?`,
    `Is a ${aspect} of ${seed + 1} right for the ${subject}?`,
  ],
  negations: ({ subject, aspect }) => [
    `Should the ${subject} keep its ${aspect}?`,
    `Should the ${subject} not keep its ${aspect}?`,
  ],
  files: ({ subject, aspect }, seed) => [
    `Is the ${aspect} right in src/${subject}/a${seed}.ts?`,
    `Is the ${aspect} right in src/${subject}/b${seed}.ts?`,
  ],
}

test.each(Object.keys(DIFFERENCES))('LP15 questions that differ in %s are never the same question', async (kind) => {
  await fc.assert(
    fc.asyncProperty(topic, fc.nat({ max: 1000 }), async (about, seed) => {
      const [one = '', other = ''] = DIFFERENCES[kind]?.(about, seed) ?? []
      const questions = [one, other, one, other].map((question) => ({ question, answer: 'That is right as it is.' }))
      const judged = await judgeAll(questions)
      expect(judged.map(({ status }) => status)).not.toContain('IDENTICAL_LOOP')
    }),
  )
})
