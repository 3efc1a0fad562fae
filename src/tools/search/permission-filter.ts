import { deniedPathMatcher } from '../../judgement/permission/path-rule.ts'
import type { CallScope } from '../../kernel/tool.ts'

/** Removes search results that permission rules deny to the caller. */
export interface PermissionFilter {
  isDenied(path: string): boolean
  /** A note for the results: without it, the model would take an excluded file for missing. */
  note(excludedCount: number): string[]
}

export function createPermissionFilter({ excluded_globs = [] }: CallScope): PermissionFilter {
  const matchers = excluded_globs.map(deniedPathMatcher)
  return {
    isDenied: (path) => matchers.some((isDenied) => isDenied(path)),
    note: (excludedCount) => (excludedCount > 0 ? ['files that permission rules deny are omitted'] : []),
  }
}
