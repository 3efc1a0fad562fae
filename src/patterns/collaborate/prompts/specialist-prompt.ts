import { severities } from '../../../judgement/vote/severity.ts'
import { isCopiedExample } from '../../../requests/copied-example.ts'
import { section } from '../../../requests/prompt-text.ts'
import { answerForm } from '../../../requests/request-answer.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'
import type { Contribution } from '../output.ts'
import { contributionsSection } from './prompt-sections.ts'

/** The system prompt of the specialists, by mode: the same bytes for all of them. */
export const SPECIALIST_SYSTEM = {
  parallel:
    'You are one of several specialists who answer the same question independently. Cover your own field; others cover theirs.',
  sequential:
    'You are one of several specialists who answer the same question one after the other. Cover your own field; others cover ' +
    'theirs. Build on the contributions before yours, and say where you disagree.',
  hierarchical:
    'You are one of several specialists who work on parts of one task. Do your part well; others do theirs, and a coordinator ' +
    'writes the answer from all parts.',
}

export interface SpecialistPromptInput {
  shared: string
  specialist: { name: string; role: string; focus: string; instructions: string }
  /** The shape of the answer; without it, text. */
  answer: ContributionAnswer | undefined
  previous?: readonly Contribution[]
  subtask?: string
}

export function specialistPrompt(input: SpecialistPromptInput): string {
  const { shared, specialist, answer, previous = [], subtask } = input
  const prompt = [
    shared,
    ...(previous.length > 0 ? [contributionsSection(previous)] : []),
    ...(subtask === undefined ? [] : [section('<subtask>', subtask)]),
    section('<you>', identity(specialist)),
    ...(subtask === undefined ? [] : ['Work on your subtask only.']),
    ...(answer ? [] : ['Answer in plain text. Begin with what you recommend.']),
  ].join('\n')
  return answer ? answerForm(answer, prompt).instruction : prompt
}

export function identity({ name, role, focus, instructions }: SpecialistPromptInput['specialist']): string {
  const field = role === name ? '' : ` Field: ${role.trim().replace(/\.$/, '')}.`
  return [
    `Name: ${name}.${field}${focus.trim() === '' ? '' : ` Focus: ${focus.trim()}`}`,
    ...(instructions.trim() === '' ? [] : [instructions.trim()]),
  ].join('\n')
}

export const EXAMPLE_CONCERN = 'what could go wrong'

/** Texts of the example that must not count as an answer when a model copies them. */
const EXAMPLE_TEXTS = {
  response: 'your analysis for the person who asked, at most 200 words',
  recommendation: 'what to do, one imperative sentence of at most 15 words',
  choice: 'exactly one of the choices',
  concern: EXAMPLE_CONCERN,
  question: 'what you would need to know',
}

/** Whether a model copied this text from the example. */
export function isExampleText(text: string): boolean {
  return isCopiedExample(text, Object.values(EXAMPLE_TEXTS))
}

const SEVERITY_WORDS = { low: 'minor', info: 'minor', medium: 'moderate' } as const

/** The shape of a contribution. An unknown severity counts as critical, so that no veto is lost; nor is it for its words. */
export function contributionAnswer(categories?: readonly string[]) {
  const recommendation = categories
    ? `"recommendation" is exactly one of these choices: ${categories.map((each) => JSON.stringify(each)).join(', ')}.`
    : 'If the task asks for a certain form of answer, such as yes or no, a number or a name, put that into "recommendation".'
  return {
    fields: {
      response: 'text',
      recommendation: categories ? { type: 'choice', of: categories } : 'text',
      confidence: 'confidence',
      concerns: [
        {
          concern: 'text',
          severity: { type: 'choice', of: severities, words: SEVERITY_WORDS, unknown: 'critical', missing: 'minor' },
        },
      ],
      questions: ['text'],
    },
    bare: 'concern',
    verbatim: ['concern'],
    whole: ['recommendation'],
    rules: [
      recommendation,
      '"confidence" is a number from 0 to 1. "severity" is minor, moderate or critical. Without concerns or questions, give an empty list.',
    ],
    example: {
      response: EXAMPLE_TEXTS.response,
      recommendation: categories ? EXAMPLE_TEXTS.choice : EXAMPLE_TEXTS.recommendation,
      confidence: 0.7,
      concerns: [{ concern: EXAMPLE_TEXTS.concern, severity: 'minor' }],
      questions: [EXAMPLE_TEXTS.question],
    },
  } as const satisfies AnswerShape
}

export type ContributionAnswer = ReturnType<typeof contributionAnswer>
