import { splitPassages } from '../../../judgement/relevance/passages.ts'
import type { Candidate, Placement } from './candidate.ts'

/** The parts of a request that the package needs. */
export interface PackageRequest {
  collaboration_id: string
  requesting_agent: string
  question: string
  consultation_reason?: string | undefined
  context: {
    current_task?: string | undefined
    specific_concern?: string | undefined
    attempted_approaches?: readonly string[] | undefined
    relevant_files?: readonly string[] | undefined
    code_snippets?: readonly { path?: string | undefined; text: string }[] | undefined
    error_messages?: readonly string[] | undefined
  }
}

const MAX_PASSAGE = 1600

/** What the asker itself put into the request. */
export function requestCandidates({ context }: PackageRequest, redact: (text: string) => string): Candidate[] {
  const { attempted_approaches = [], code_snippets = [], error_messages = [] } = context
  const texts: [text: string, origin: string, placement: Placement][] = [
    ...error_messages.map(
      (text) => [text, 'error message', { field: 'error_messages' }] as [string, string, Placement],
    ),
    ...code_snippets.map(({ text, path }): [string, string, Placement] => [
      text,
      path ?? 'code snippet',
      { field: 'code_snippets', ...(path === undefined ? undefined : { path: redact(path) }) },
    ]),
    ...attempted_approaches.map((text): [string, string, Placement] => [
      text,
      'attempted approach',
      { field: 'attempted_solutions' },
    ]),
  ]
  return texts.flatMap(([text, origin, placement], index) =>
    splitPassages(redact(text), MAX_PASSAGE).map(
      (passage, part): Candidate => ({
        source: 'request',
        origin: redact(origin),
        position: [index, part],
        text: passage.text,
        placement,
        requested: true,
        // The beginning of a long text comes first when the budget is short.
        prior: 1 - Math.min(0.2, part * 0.01),
      }),
    ),
  )
}
