import type { SessionResult } from '../../../kernel/session-result.ts'
import type { ReviewerOutput, ReviewFinding } from '../contracts.ts'
import { findingCategories, findingSeverities, verdicts } from '../contracts.ts'
import type { Fields } from '../read-fields.ts'
import { isFields, readBoolean, readChoice, readInteger, readList, readObject, readText } from '../read-fields.ts'

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

/** Reads a review leniently: an object, or prose in which only the verdict is looked for. */
export function parseReview(result: Pick<SessionResult, 'object' | 'text'>, id: string): ClaimedReview {
  const fields = readObject(result)
  if (!fields || !('verdict' in fields || 'findings' in fields)) {
    const verdict = verdictInText(result.text)
    return { verdict, findings: [], summary: result.text.trim(), tests_passed: null, type_check_passed: null }
  }
  const verification = isFields(fields.verification) ? fields.verification : fields
  return {
    verdict: readChoice(fields.verdict, verdicts) ?? verdictInText(readText(fields.verdict)),
    findings: readList(fields.findings).flatMap((entry, index) => parseFinding(entry, `${id}-F${index + 1}`)),
    summary: readText(fields.summary),
    tests_passed: readBoolean(verification.tests_passed),
    type_check_passed: readBoolean(verification.type_check_passed),
  }
}

/** A verdict in words. The stricter one counts where a text has several. */
function verdictInText(text: string): ReviewerOutput['verdict'] | undefined {
  if (/\breject(?:ed|s)?\b/i.test(text)) return 'rejected'
  if (/\bchanges?[ _]request(?:ed)?\b|\brequest(?:s|ing)? changes\b|\bnot (?:ready|approved?)\b/i.test(text))
    return 'changes_requested'
  return /\bapproved?\b|\blgtm\b/i.test(text) ? 'approved' : undefined
}

const SEVERITY_WORDS: Record<string, ReviewFinding['severity']> = {
  blocker: 'critical',
  high: 'major',
  medium: 'minor',
  moderate: 'minor',
  low: 'suggestion',
  info: 'suggestion',
  nit: 'suggestion',
}

/** An unknown severity counts as major: a defect must not be lost for its word. */
function parseFinding(entry: unknown, finding_id: string): ReviewFinding[] {
  const fields: Fields = isFields(entry) ? entry : { description: readText(entry) }
  const description = readText(fields.description) || readText(fields.finding) || readText(fields.suggestion)
  if (description === '') return []
  const word = readText(fields.severity).toLowerCase()
  const line = readInteger(fields.line)
  const suggestion = readText(fields.suggestion)
  return [
    {
      finding_id,
      severity: readChoice(word, findingSeverities) ?? SEVERITY_WORDS[word] ?? (word === '' ? 'minor' : 'major'),
      category: readChoice(fields.category, findingCategories) ?? 'logic',
      file: readText(fields.file),
      ...(line === undefined || line < 1 ? undefined : { line }),
      description,
      ...(suggestion === '' ? undefined : { suggestion }),
    },
  ]
}
