import { deniedPathMatcher } from '../../judgement/permission/path-rule.ts'
import type { ToolCall } from '../../kernel/tool.ts'

/** What of a search's results rules keep from whoever searches. */
export interface PermissionFilter {
  isDenied(path: string): boolean
  /** To be said with the results: what is not shown could be taken for not being there. */
  note(left_out: number): string[]
}

export function createPermissionFilter({ excluded_globs = [] }: Pick<ToolCall, 'excluded_globs'>): PermissionFilter {
  const forbidders = excluded_globs.map(deniedPathMatcher)
  return {
    isDenied: (path) => forbidders.some((forbids) => forbids(path)),
    note: (left_out) => (left_out > 0 ? ['files that permission rules keep from you are left out'] : []),
  }
}
