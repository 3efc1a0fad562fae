import type { Pattern, PatternTool } from '../kernel/pattern.ts'
import { patternTool } from '../kernel/pattern.ts'
import { artifactRead } from '../patterns/artifacts/artifact-read.ts'
import { artifactWrite } from '../patterns/artifacts/artifact-write.ts'
import { askUser } from '../patterns/ask-user/ask-user.ts'
import { collaborate, createCollaboratePattern } from '../patterns/collaborate/collaborate.ts'
import type { CollaborateConfig } from '../patterns/collaborate/collaborate-config.ts'
import { parseCollaborateConfig } from '../patterns/collaborate/collaborate-config.ts'
import { outcome } from '../patterns/collaborate/record-outcome.ts'
import { enterPlanMode } from '../patterns/plan-mode/enter-plan-mode.ts'
import { exitPlanMode } from '../patterns/plan-mode/exit-plan-mode.ts'
import { task, taskResult } from '../patterns/task/task.ts'
import { team } from '../patterns/team/team.ts'

/** The ways of working together that come with Troupe: what a run can be of. */
export const BUILT_IN_PATTERNS: readonly Pattern[] = [task, collaborate, outcome, team]

/** Patterns as tools, with the names that other hosts know them by. */
const PATTERN_TOOLS: readonly (readonly [Pattern, readonly string[]])[] = [
  [task, ['task', 'Task', 'Agent']],
  [taskResult, ['task_result', 'TaskOutput']],
  [collaborate, ['collaborate', 'tool-collaborative']],
  [askUser, ['ask_user', 'AskUserQuestion']],
  [enterPlanMode, ['EnterPlanMode']],
  [exitPlanMode, ['ExitPlanMode']],
  [artifactRead, ['ArtifactRead']],
  [artifactWrite, ['ArtifactWrite']],
]

export const PATTERN_TOOL_NAMES: readonly string[] = PATTERN_TOOLS.flatMap(([, names]) => names)

/** Those of them whose calls are about nothing that rules could tell apart. */
export const UNSCOPED_TOOL_NAMES: readonly string[] = PATTERN_TOOLS.flatMap(([pattern, names]) =>
  pattern.subject ? [] : names,
)

/** The names of each of these tools, by the one it is registered under. */
export const PATTERN_TOOL_ALIASES: ReadonlyMap<string, readonly string[]> = new Map(
  PATTERN_TOOLS.map(([pattern, names]) => [pattern.name, names]),
)

export interface BuiltInPatterns {
  patterns: Pattern[]
  /** Every pattern that agents can call, those of a program's own among them, by each of its names. */
  patternTools(own: readonly Pattern[]): Map<string, PatternTool>
}

/** What comes with Troupe, as a program configures it. */
export function builtInPatterns(config: Partial<CollaborateConfig> = {}): BuiltInPatterns {
  const configured = createCollaboratePattern(parseCollaborateConfig(config))
  const now = (pattern: Pattern) => (pattern === collaborate ? configured : pattern)
  return {
    patterns: BUILT_IN_PATTERNS.map(now),
    patternTools(own) {
      const named = [...PATTERN_TOOLS, ...own.map((pattern) => [pattern, [pattern.name]] as const)]
      return new Map(named.flatMap(([pattern, names]) => names.map((name) => [name, patternTool(now(pattern))])))
    },
  }
}
