import type { Pattern, PatternTool } from '../kernel/pattern.ts'
import { patternTool } from '../kernel/pattern.ts'
import { artifactRead, artifactWrite } from '../patterns/artifacts/artifact-tools.ts'
import { askUser } from '../patterns/ask-user/ask-user.ts'
import { collaborate, createCollaboratePattern } from '../patterns/collaborate/collaborate.ts'
import type { CollaborateConfig } from '../patterns/collaborate/collaborate-config.ts'
import { parseCollaborateConfig } from '../patterns/collaborate/collaborate-config.ts'
import { outcome } from '../patterns/collaborate/record-outcome.ts'
import { enterPlanMode, exitPlanMode } from '../patterns/plan-mode/plan-mode.ts'
import { task, taskResult } from '../patterns/task/task.ts'
import { team } from '../patterns/team/team.ts'

/** The patterns that runs can be started with. */
export const BUILT_IN_PATTERNS: readonly Pattern[] = [task, collaborate, outcome, team]

/** Patterns that agents can call as tools, with the aliases other hosts use. */
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

/** Tools whose permission rules take no argument, unlike `Bash(git *)`. */
export const UNSCOPED_TOOL_NAMES: readonly string[] = PATTERN_TOOLS.flatMap(([pattern, names]) =>
  pattern.subject ? [] : names,
)

/** All names of each tool, by the name of its pattern. */
export const PATTERN_TOOL_ALIASES: ReadonlyMap<string, readonly string[]> = new Map(
  PATTERN_TOOLS.map(([pattern, names]) => [pattern.name, names]),
)

export interface BuiltInPatterns {
  patterns: Pattern[]
  /** The pattern tools, built-in and custom, by each of their names. */
  patternTools(custom: readonly Pattern[]): Map<string, PatternTool>
}

/** The built-in patterns with the configured `collaborate`. */
export function builtInPatterns(config: Partial<CollaborateConfig> = {}): BuiltInPatterns {
  const configured = createCollaboratePattern(parseCollaborateConfig(config))
  const configure = (pattern: Pattern) => (pattern === collaborate ? configured : pattern)
  return {
    patterns: BUILT_IN_PATTERNS.map(configure),
    patternTools(custom) {
      const named = [...PATTERN_TOOLS, ...custom.map((pattern) => [pattern, [pattern.name]] as const)]
      return new Map(named.flatMap(([pattern, names]) => names.map((name) => [name, patternTool(configure(pattern))])))
    },
  }
}
