import type { PatternPart } from '../../kernel/pattern-part.ts'

/** A decision record of the project. */
export interface ArchitectureDecision {
  title: string
  /** Relative to the folder of the project; empty for one that only the profile file has. */
  path: string
  summary: string
}

/** A rule of the project, for one specialist or for all. */
export interface BestPractice {
  for?: string
  text: string
}

/** What the files of a project say about it; `.troupe/profile.yaml` wins over what was detected, field by field. */
export interface ProjectProfile extends PatternPart<'project profile'> {
  /** Such as `web application`; `unknown` when nothing was recognised. */
  project_type: string
  /** Languages, frameworks, databases and platforms. */
  tech_stack: readonly string[]
  architecture_decisions: readonly ArchitectureDecision[]
  best_practices: readonly BestPractice[]
  /** `file` when `.troupe/profile.yaml` sets at least one field. */
  source: 'detected' | 'file'
}

export const UNKNOWN_PROFILE: ProjectProfile = Object.freeze({
  project_type: 'unknown',
  tech_stack: [],
  architecture_decisions: [],
  best_practices: [],
  source: 'detected',
})
