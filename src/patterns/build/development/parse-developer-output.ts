import type { SessionResult } from '../../../kernel/session-result.ts'
import type { DeveloperOutput, FileChanges } from '../contracts.ts'
import { developerStatuses } from '../contracts.ts'
import type { Fields } from '../read-fields.ts'
import { isFields, readBoolean, readChoice, readList, readObject, readText, readTexts } from '../read-fields.ts'

interface DeveloperFacts {
  task_id: string
  /** What git found. */
  changes: FileChanges
  /** A round that answers a review may find nothing to change. */
  mayChangeNothing: boolean
}

/** The output of a developer: its own words, the changes that git found, and a status that both agree with. */
export function parseDeveloperOutput(
  session: SessionResult,
  { task_id, changes, mayChangeNothing }: DeveloperFacts,
): DeveloperOutput {
  const fields = readObject(session) ?? {}
  const isReport = 'status' in fields || 'summary' in fields
  const claimed = isReport ? readChoice(fields.status, developerStatuses) : undefined
  const hasChanges = Object.values(changes).some((paths) => paths.length > 0)
  const blockers = isReport ? readTexts(fields.blockers) : []
  const problems = sessionProblems(session)
  if (!hasChanges && !mayChangeNothing) problems.push('no file was changed')
  const notes = isReport ? readText(fields.notes) : ''
  const review = isFields(fields.self_review) ? parseSelfReview(fields.self_review) : undefined
  return {
    task_id,
    status: problems.length > 0 ? (hasChanges ? 'partial' : 'failed') : (claimed ?? 'completed'),
    changes,
    summary: (isReport ? readText(fields.summary) : session.text.trim()) || missingSummary(changes),
    ...(notes === '' ? undefined : { notes }),
    ...(blockers.length + problems.length > 0 ? { blockers: [...blockers, ...problems] } : undefined),
    ...(review ? { self_review: review } : undefined),
  }
}

/** A developer that was stopped wrote no report: git knows how far it got. */
function missingSummary({ files_created, files_modified, files_deleted }: FileChanges): string {
  const paths = [...files_created, ...files_modified, ...files_deleted]
  return `no report; ${paths.length === 0 ? 'no file was changed' : `changed so far: ${paths.join(', ')}`}`
}

/** A session that did not end by itself keeps its partial work, and says why. */
function sessionProblems({ stop_reason, error }: SessionResult): string[] {
  if (stop_reason === 'completed') return []
  return [`the developer stopped early (${stop_reason})${error ? `: ${error.message}` : ''}`]
}

function parseSelfReview(fields: Fields): NonNullable<DeveloperOutput['self_review']> {
  const criteria = readList(fields.criteria).filter(isFields)
  return {
    criteria: criteria.map((entry) => ({
      criterion: readText(entry.criterion),
      met: readBoolean(entry.met),
      evidence: readText(entry.evidence),
    })),
    concerns: readTexts(fields.concerns),
  }
}
