import type { Pattern } from '../kernel/pattern.ts'
import { compileSchema } from '../kernel/schema.ts'
import type { JsonSchema } from '../kernel/standard-schema.ts'
import { artifactRead, artifactWrite } from '../patterns/artifacts/artifact-tools.ts'
import { askUser } from '../patterns/ask-user/ask-user.ts'
import { collaborate } from '../patterns/collaborate/collaborate.ts'
import { outcome } from '../patterns/collaborate/outcome.ts'
import { enterPlanMode, exitPlanMode } from '../patterns/plan-mode/plan-mode.ts'
import { task, taskResult } from '../patterns/task/task.ts'
import { team } from '../patterns/team/team.ts'

/** The patterns that come with Troupe. This line is all that registers one: everything else is in its folder. */
export const BUILT_IN_PATTERNS = [
  ...[task, taskResult, collaborate, outcome, team],
  ...[askUser, enterPlanMode, exitPlanMode, artifactRead, artifactWrite],
] as const satisfies readonly Pattern[]

export type BuiltInPattern = (typeof BUILT_IN_PATTERNS)[number]

/** The JSON Schema of the input of a pattern. */
export function patternInputSchema({ name, input }: Pattern): JsonSchema {
  return compileSchema(input, `\`input\` of the pattern '${name}'`).jsonSchema
}
