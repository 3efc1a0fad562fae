import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'
import type { ReviewerInput } from '../contracts.ts'
import { findingCategories, findingSeverities, verdicts } from '../contracts.ts'

export interface ReviewerPromptInput {
  request: string
  input: ReviewerInput
  /** What the developers reported and what failing checks printed, one JSON object a line. */
  reports: readonly string[]
  /** The whole change; cut off where it is too long. */
  diff: string
  /** What the checks said, one a line. */
  checks: readonly string[]
  /** What a comparison of the tests with those before has found. */
  test_changes: readonly string[]
  /** What the review before asked for; empty in the first round. */
  asked_for: readonly string[]
}

const SEVERITY_WORDS = {
  blocker: 'critical',
  high: 'major',
  medium: 'minor',
  moderate: 'minor',
  low: 'suggestion',
  info: 'suggestion',
  nit: 'suggestion',
} as const

const ASKED_FOR = 'The last review asked for this. Check that it was done:'

export function reviewerPrompt(prompt: ReviewerPromptInput): string {
  const { request, input, reports, diff, checks, test_changes, asked_for } = prompt
  const { review_scope, criteria, acceptance_criteria } = input
  const { focus_areas = [] } = review_scope
  return [
    section('<request>', request),
    ...(acceptance_criteria.length > 0
      ? [section('<acceptance_criteria>', acceptance_criteria.map((line) => `- ${line}`).join('\n'))]
      : []),
    section('<files>', review_scope.files.join('\n')),
    section('<checks source="computed, reliable">', checks.join('\n')),
    ...(test_changes.length > 0
      ? [section('<test_changes source="computed, reliable">', test_changes.join('\n'))]
      : []),
    ...(asked_for.length > 0
      ? [section('<asked_for>', [ASKED_FOR, DATA_RULE, fenceData(asked_for.join('\n'))].join('\n'))]
      : []),
    section('<work>', [DATA_RULE, fenceData([...reports, diff].join('\n'))].join('\n')),
    'Review the merged work of the developers in your folder, and read the files where the change alone does not tell. You change nothing.',
    ...(focus_areas.length > 0 ? [`Look at these most of all: ${focus_areas.join(', ')}.`] : []),
    criteria.must_pass_tests
      ? 'The tests have to pass. The checks above were run for you: a verdict that does not agree with them is not used.'
      : 'Tests that failed before may still fail. The checks above were run for you: a verdict that does not agree with them is not used.',
  ].join('\n')
}

export const reviewAnswer = {
  fields: {
    verdict: { type: 'choice', of: verdicts },
    summary: 'text',
    findings: [
      {
        // An unknown severity counts as major: a defect must not be lost for its word.
        severity: { type: 'choice', of: findingSeverities, words: SEVERITY_WORDS, unknown: 'major', missing: 'minor' },
        category: { type: 'choice', of: findingCategories, unknown: 'logic', missing: 'logic' },
        file: 'text',
        line: 'integer?',
        description: 'text',
        suggestion: 'text?',
      },
    ],
  },
  aliases: { finding: 'description' },
  bare: 'description',
  rules: [
    '"verdict" is approved, changes_requested (the developers correct it) or rejected (the approach is wrong, it is planned again).',
    '"severity" is critical, major, minor or suggestion; "category" is bug, security, performance, style or logic.',
    'Name the file of every finding, and the line where there is one. Without findings, give an empty list.',
  ],
  example: {
    verdict: 'changes_requested',
    summary: 'the main reason for the verdict, in one or two sentences',
    findings: [
      {
        severity: 'major',
        category: 'bug',
        file: 'src/area/example.ts',
        line: 12,
        description: 'what goes wrong, and with which input',
        suggestion: 'the change you suggest',
      },
    ],
  },
} as const satisfies AnswerShape
