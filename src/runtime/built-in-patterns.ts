import type { Pattern, PatternOffer } from '../kernel/pattern.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'
import { lazy } from './lazy.ts'

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

/** Patterns whose definitions are imported when a run or a session has them, with what decides who has their tools. */
export const OFFERS: { readonly [Name in keyof Registration]?: PatternOffer } = {
  outcome: { only: 'run' },
  team: { only: 'run', delegation: { self: 'count', cycles: 'refuse' } },
  build: { on_request: true, delegation: { self: 'count', cycles: 'allow' } },
  EnterPlanMode: { only: 'tool', on_request: true },
  ExitPlanMode: { only: 'tool', on_request: true },
  ArtifactRead: { only: 'tool', on_request: 'or for artifacts' },
  ArtifactWrite: { only: 'tool', on_request: 'or for artifacts' },
}

type Name = keyof Registration

/** The complete definitions of these patterns. Default: of all. */
export function loadBuiltInPatterns(names = Object.keys(BUILT_IN_PATTERNS)): Promise<BuiltInPattern[]> {
  return Promise.all(names.map((name) => BUILT_IN_PATTERNS[name as Name]()))
}

/** The patterns, of which those that are named have complete definitions, and others only if every session has their tools. */
export function registerBuiltInPatterns(needed: (name: Name) => boolean): Promise<Pattern[]> {
  const names = Object.keys(BUILT_IN_PATTERNS) as Name[]
  return Promise.all(
    names.map((name): Pattern | Promise<Pattern> => {
      const [offer, load] = [OFFERS[name], BUILT_IN_PATTERNS[name]]
      return offer && !needed(name) ? deferPattern({ name, ...offer }, load) : load()
    }),
  )
}

/** A pattern that completes itself. It stays the same object: the registry and open sessions have it. */
function deferPattern(offer: PatternOffer & { name: string }, load: () => Promise<Pattern>): Pattern {
  const { get } = lazy(async () => void Object.assign(pattern, await load(), { complete: undefined }))
  // A definition is completed before it is used.
  const pattern = { ...offer, complete: get } as Pattern
  return pattern
}

/** The JSON Schema of the input of a pattern. */
export async function patternInputSchema({ name, input }: Pattern): Promise<JsonSchema> {
  const { compileSchema } = await import('../schema/schema.ts')
  return compileSchema(input, `\`input\` of the pattern '${name}'`).jsonSchema
}
