import type { Pattern } from '../kernel/pattern.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'

/**
 * The patterns that come with Troupe, by name. A line here is all that registers one: everything else is in its folder. They are
 * imported when a run or an option needs them.
 */
export const BUILT_IN_PATTERNS = {
  task: async () => (await import('../patterns/task/task.ts')).task,
  task_result: async () => (await import('../patterns/task/task.ts')).taskResult,
  collaborate: async () => (await import('../patterns/collaborate/collaborate.ts')).collaborate,
  outcome: async () => (await import('../patterns/collaborate/outcome/outcome.ts')).outcome,
  consult: async () => (await import('../patterns/consult/consult.ts')).consult,
  consult_result: async () => (await import('../patterns/consult/consult.ts')).consultResult,
  rate_consultation: async () => (await import('../patterns/consult/consult.ts')).rateConsultation,
  team: async () => (await import('../patterns/team/team.ts')).team,
  build: async () => (await import('../patterns/build/build.ts')).build,
  ask_user: async () => (await import('../patterns/ask-user/ask-user.ts')).askUser,
  EnterPlanMode: async () => (await import('../patterns/plan-mode/plan-mode.ts')).enterPlanMode,
  ExitPlanMode: async () => (await import('../patterns/plan-mode/plan-mode.ts')).exitPlanMode,
  ArtifactRead: async () => (await import('../patterns/artifacts/artifact-tools.ts')).artifactRead,
  ArtifactWrite: async () => (await import('../patterns/artifacts/artifact-tools.ts')).artifactWrite,
} as const satisfies { readonly [name: string]: () => Promise<Pattern> }

type Registration = typeof BUILT_IN_PATTERNS
export type BuiltInPattern = Awaited<ReturnType<Registration[keyof Registration]>>

export function loadBuiltInPatterns(): Promise<BuiltInPattern[]> {
  return Promise.all(Object.values(BUILT_IN_PATTERNS).map((load) => load()))
}

/** The JSON Schema of the input of a pattern. */
export async function patternInputSchema({ name, input }: Pattern): Promise<JsonSchema> {
  const { compileSchema } = await import('../schema/schema.ts')
  return compileSchema(input, `\`input\` of the pattern '${name}'`).jsonSchema
}
