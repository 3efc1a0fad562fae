import type { ProjectProfile } from '../../../formats/project-profile/project-profile.ts'
import type { Candidate } from './candidate.ts'
import type { PastCollaboration } from './context-package.ts'

/** A past consultation or an indexed document that a search found. */
export interface FoundDocument {
  document: { id: string; text: string; data: unknown; tags?: Readonly<Record<string, string>> | undefined }
  score: number
}

type Redact = (text: string) => string

/** Specifications bound retrieval: at most three past consultations. */
const MAX_PAST = 3

/** Decisions and practices of the profile; practices for other specialists are left out. */
export function profileCandidates(profile: ProjectProfile, agent: string, redact: Redact): Candidate[] {
  const own = profile.best_practices.filter((practice) => practice.for === undefined || practice.for === agent)
  return [
    ...profile.architecture_decisions.map((each, index): Candidate => {
      const decision = { title: redact(each.title), path: each.path, summary: redact(each.summary) }
      return {
        source: 'project_profile',
        origin: each.path || each.title,
        position: [index, 0],
        text: `${decision.title}\n${decision.summary}`,
        placement: { field: 'relevant_architecture_decisions', decision },
        prior: 0.9,
      }
    }),
    ...own.map(
      (practice, index): Candidate => ({
        source: 'project_profile',
        origin: 'best practices',
        position: [index, 1],
        text: redact(practice.text),
        placement: { field: 'best_practices' },
        prior: practice.for === undefined ? 0.8 : 1,
        // A practice for exactly this specialist needs no words of the question.
        ...(practice.for === undefined ? undefined : { score: 0.5 }),
      }),
    ),
  ]
}

/** Passages of the indexed documents of the project. */
export function documentCandidates(found: readonly FoundDocument[], redact: Redact): Candidate[] {
  return found.map(({ document, score }, index): Candidate => {
    const path = document.tags?.path ?? document.id
    return {
      source: 'document',
      origin: redact(path),
      position: [index, 0],
      text: redact(document.text),
      placement: isDecisionPath(path)
        ? { field: 'relevant_architecture_decisions', decision: { title: path, path, summary: redact(document.text) } }
        : { field: 'code_snippets', path: redact(path) },
      score,
      prior: 1,
    }
  })
}

function isDecisionPath(path: string): boolean {
  return /(?:^|\/)(?:adrs?|decisions?|decision-records?)(?:\/|$)/i.test(path)
}

/** Resolved consultations of the past, best first. */
export function pastCandidates(similar: readonly FoundDocument[], redact: Redact): Candidate[] {
  return similar.slice(0, MAX_PAST).map(({ document, score }, index): Candidate => {
    const past = toPastCollaboration(document.data, redact)
    return {
      source: 'past_consultation',
      origin: document.id,
      position: [index, 0],
      text: [past.question, past.resolution, past.lessons ?? ''].join('\n').trim(),
      placement: { field: 'similar_past_collaborations', past },
      score,
      prior: 1,
    }
  })
}

function toPastCollaboration(data: unknown, redact: Redact): PastCollaboration {
  const fields = (typeof data === 'object' && data !== null ? data : {}) as Record<string, unknown>
  const text = (...keys: string[]) => {
    const value = keys.map((key) => fields[key]).find((each) => typeof each === 'string' && each !== '')
    return redact(String(value ?? ''))
  }
  const lessons = Array.isArray(fields.lessons_learned)
    ? redact(fields.lessons_learned.join('; '))
    : text('lessons_learned')
  const rating = fields.success_rating ?? fields.rating
  return {
    question: text('question_summary', 'question'),
    resolution: text('resolution_summary', 'answer', 'resolution'),
    ...(lessons === '' ? undefined : { lessons }),
    ...(typeof rating === 'number' ? { success_rating: rating } : undefined),
  }
}
