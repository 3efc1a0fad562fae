import type { Answer } from '../../../kernel/session-request.ts'
import type { SessionResult } from '../../../kernel/session-result.ts'
import type { DeveloperOutput, FileChanges } from '../contracts.ts'
import type { developerAnswer } from '../prompts/developer-prompt.ts'

interface DeveloperFacts {
  task_id: string
  /** What git found. */
  changes: FileChanges
  /** A round that answers a review may find nothing to change. */
  mayChangeNothing: boolean
}

/** The output of a developer: its own words, the changes that git found, and a status that both agree with. */
export function parseDeveloperOutput(
  answer: Answer<typeof developerAnswer>,
  { task_id, changes, mayChangeNothing }: DeveloperFacts,
): DeveloperOutput {
  const { value, text } = answer
  const { status, blockers = [], notes = null, self_review = null } = value ?? {}
  const hasChanges = Object.values(changes).some((paths) => paths.length > 0)
  const problems = sessionProblems(answer)
  if (!hasChanges && !mayChangeNothing) problems.push('no file was changed')
  return {
    task_id,
    status: problems.length > 0 ? (hasChanges ? 'partial' : 'failed') : (status ?? 'completed'),
    changes,
    summary: (value ? value.summary : text.trim()) || missingSummary(changes),
    ...(notes === null ? undefined : { notes }),
    ...(blockers.length + problems.length > 0 ? { blockers: [...blockers, ...problems] } : undefined),
    ...(self_review ? { self_review } : undefined),
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
