import { splitPassages } from '../../../judgement/relevance/passages.ts'
import type { ConsultationRequest } from '../request.ts'
import type { Candidate, PackageField } from './candidate.ts'

/** The parts of a request that the package needs. */
export type PackageRequest = Pick<ConsultationRequest, 'collaboration_id' | 'requesting_agent' | 'question' | 'context'>

const MAX_PASSAGE = 1600

/** What the asker itself put into the request. */
export function requestCandidates({ context }: PackageRequest, redact: (text: string) => string): Candidate[] {
  const { attempted_approaches = [], code_snippets = [], error_messages = [] } = context
  const texts: [text: string, origin: string, placement: PackageField][] = [
    ...error_messages.map(
      (text) => [text, 'error message', { field: 'error_messages' }] as [string, string, PackageField],
    ),
    ...code_snippets.map(({ text, path }): [string, string, PackageField] => [
      text,
      path ?? 'code snippet',
      { field: 'code_snippets', ...(path === undefined ? undefined : { path: redact(path) }) },
    ]),
    ...attempted_approaches.map((text): [string, string, PackageField] => [
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
