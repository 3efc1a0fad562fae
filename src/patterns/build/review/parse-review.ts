import type { SessionResult } from '../../../kernel/session-result.ts'
import { isFields, readAnswer, readText, readVerdict } from '../../../requests/read-answer.ts'
import type { AnswerValue } from '../../../schema/answer-shape.ts'
import type { ReviewerOutput, ReviewFinding } from '../contracts.ts'
import { reviewAnswer } from '../prompts/reviewer-prompt.ts'

/** A review as the reviewer gave it. */
export interface ClaimedReview {
  verdict: ReviewerOutput['verdict'] | undefined
  findings: ReviewFinding[]
  summary: string
  /** What it says about the checks, if it does. */
  tests_passed: boolean | null
  type_check_passed: boolean | null
  /** The reviewer did not answer: there is nothing that a developer could correct. */
  failed?: boolean
}

/** Reads a review: an object, or prose in which only the verdict is looked for. */
export function parseReview(session: Pick<SessionResult, 'object' | 'text'>, id: string): ClaimedReview {
  const { value, fields = {} } = readAnswer(reviewAnswer, session)
  if (!value) {
    const verdict = verdictInText(session.text)
    return { verdict, findings: [], summary: session.text.trim(), tests_passed: null, type_check_passed: null }
  }
  const verification = isFields(fields.verification) ? fields.verification : fields
  return {
    verdict: value.verdict ?? verdictInText(readText(fields.verdict)),
    findings: value.findings.flatMap((finding, index) => toFinding(finding, `${id}-F${index + 1}`)),
    summary: value.summary,
    tests_passed: readVerdict(verification.tests_passed),
    type_check_passed: readVerdict(verification.type_check_passed),
  }
}

/** A verdict in words. The stricter one counts where a text has several. */
function verdictInText(text: string): ReviewerOutput['verdict'] | undefined {
  if (/\breject(?:ed|s)?\b/i.test(text)) return 'rejected'
  if (/\bchanges?[ _]request(?:ed)?\b|\brequest(?:s|ing)? changes\b|\bnot (?:ready|approved?)\b/i.test(text))
    return 'changes_requested'
  return /\bapproved?\b|\blgtm\b/i.test(text) ? 'approved' : undefined
}

type GivenFinding = AnswerValue<typeof reviewAnswer.fields>['findings'][number]

function toFinding(finding: GivenFinding, finding_id: string): ReviewFinding[] {
  const { severity, category, file, line, suggestion } = finding
  const description = finding.description || (suggestion ?? '')
  if (description === '') return []
  return [
    {
      ...{ finding_id, severity, category, file },
      ...(line === null || line < 1 ? undefined : { line }),
      description,
      ...(suggestion === null ? undefined : { suggestion }),
    },
  ]
}
