import type { ErrorRecord } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { Schema, SchemaInput, SchemaOutput } from '../schema/standard-schema.ts'
import { schemaKind } from '../schema/standard-schema.ts'
import type { Agent } from './agent.ts'
import type { Context } from './context.ts'
import type { PatternEventOf, StopReason } from './event.ts'
import { isKernelEventType } from './event.ts'
import type { Limits } from './limits.ts'
import type { PatternPart } from './pattern-part.ts'
import type { Roster } from './roster.ts'
import type { SteerAction } from './steer-action.ts'
import type { ToolCategory, ToolMetadata, ToolResult } from './tool.ts'

/** Schemas of a pattern's events, by type: `{ 'review:vote': z.object({ … }) }`. */
export type EventSchemas = Readonly<Record<string, Schema>>
/** The data that `emit` takes, by event type. */
export type EmittedData<Schemas extends EventSchemas> = { [T in keyof Schemas]: SchemaInput<Schemas[T]> }
/** The events that a pattern's view reads. */
export type DeclaredEvent<Schemas extends EventSchemas> = PatternEventOf<{
  [T in keyof Schemas]: SchemaOutput<Schemas[T]>
}>

/** The schemas that give a pattern its types: zod, another Standard Schema library with JSON Schema, or JSON Schema. */
export interface PatternSchemas {
  input: Schema
  output: Schema
  events: EventSchemas
}

/** A collaboration pattern. The library function, the tool and the command are all derived from this definition. */
export interface PatternDefinition<Schemas extends PatternSchemas = PatternSchemas> {
  name: string
  description: string
  version: number
  input: Schemas['input']
  /**
   * The input that remote callers may give: without models, paths, commands, servers, workspaces and limits, which only the operator
   * chooses. Its value is the input of the run. `null`: remote callers cannot start it. Default: `input`.
   */
  requestInput?: Schema | null
  /** Checked when the pattern returns, not transformed; an output that does not match fails with `invalid_output`. */
  output: Schemas['output']
  /** The events it emits. Types are namespaced and not the kernel's. */
  events?: Schemas['events']
  category: ToolCategory
  /** Other names of its tool, such as those in agent files of other products. */
  aliases?: readonly string[]
  /** Only the pattern of a run, or only a tool. Default: both. */
  only?: 'run' | 'tool'
  /** The pattern whose tool agents get instead, where a tool call has another input than a run. */
  tool?: Pattern
  /** Set if it delegates to agents: its tool is withheld where `limits.depth` is used up. */
  delegation?: DelegationRules
  /** The settings that `createTroupe` and configuration files take under the name of a built-in pattern. */
  settings?(): Promise<Schema>
  /** The pattern whose settings `configure` gets. Default: its own. */
  settings_of?: string
  /** The pattern with these settings; throws `invalid_input`. */
  configure?(options: unknown): Pattern | Promise<Pattern>
  /** Limits that its settings change for all runs; `limits` of `createTroupe` wins. */
  limits?: Partial<Limits>
  /** The view that people see of it, from `definePatternView`; without one, the fields of its events. */
  view?: PatternPart<'view'> | (() => Promise<PatternPart<'view'>>)
  /** The tables that the store keeps from its events, from `defineProjection`. */
  projection?: PatternPart<'projection'>
  /** The figures that `troupe metrics` shows from its tables: a `PatternReport`. */
  report?: PatternPart<'report'> | (() => Promise<PatternPart<'report'>>)
  /** Only for agents whose file lists it; `or for artifacts`: also for agents with `artifacts`. */
  on_request?: true | 'or for artifacts'
  /** False where its tool would be of no use to this agent; it then costs no tokens. */
  isUseful?(agent: Agent, roster: Roster): boolean
  /** Step keys of older versions and their new names, by whole path segments. */
  renamedKeys?: Readonly<Record<string, string>>
  /**
   * Imports the modules that `check`, `checkSteer` and `execute` import when they are called: loading them must not take part in a
   * run whose time is simulated.
   */
  load?(): Promise<unknown>
  /** Throws `invalid_input` before a run is created. */
  check?(roster: Roster, input: SchemaOutput<Schemas['input']>): void | Promise<void>
  /** Throws for an invalid steering command. A pattern without it cannot be steered. */
  checkSteer?(input: SchemaOutput<Schemas['input']>, action: SteerAction): void | Promise<void>
  /** The agents that the input names, as the roster spells them. Permission rules such as `Task(reviewer)` match them. */
  agents?(input: SchemaOutput<Schemas['input']>, context: Context): readonly string[]
  /** Extra fields of `tool:pre`, `tool:post` and `tool:error`. */
  eventFields?(context: Context, input: SchemaOutput<Schemas['input']>): Record<string, unknown>
  /** The tool's input schema for one caller, with enum values from the roster. */
  inputFor?(context: Context): Schema
  execute(
    context: Context<EmittedData<Schemas['events']>>,
    input: SchemaOutput<Schemas['input']>,
  ): Promise<PatternResult>
}

/** Facts that decide who has the tool of a pattern. */
export type PatternOffer = Pick<PatternDefinition, 'only' | 'on_request' | 'delegation'>

/** How delegation is bounded for the sessions that a pattern performs for a calling agent. */
export interface DelegationRules {
  /**
   * `own`: the pattern bounds its chains of sessions itself and is open to every agent at any depth: neither `limits.depth`,
   * `limits.breadth` nor the caller's `agents` apply. Its sessions delegate no deeper than their caller could. Default: `limits.depth`.
   */
  bound?: 'limits.depth' | 'own'
  /** The calling agent itself: counted against `limits.self_depth`, or rejected like any other cycle. */
  self: 'count' | 'refuse'
  /** An agent that is already active above the caller: refused with `cycle_refused`, or allowed. */
  cycles: 'refuse' | 'allow'
}

/** The types of a pattern for its callers: what `run` takes, and what it returns. */
export interface PatternTypes {
  input: unknown
  output: unknown
}

/** A pattern, ready to use. Inputs are validated against its schema before it gets them. */
export interface Pattern<Name extends string = string, Types extends PatternTypes = PatternTypes>
  extends PatternDefinition {
  name: Name
  /** Imports the rest of a built-in definition, of which only the offer is there so far. Unset once that is done. */
  complete?: (() => Promise<void>) | undefined
  /** Only for the compiler: never set. */
  readonly '~types'?: Types
}

/** Completes these definitions. `undefined` if they are complete, so that nothing waits. */
export function completePatterns(patterns: readonly (Pattern | undefined)[]): Promise<unknown> | undefined {
  const pending = patterns.flatMap((pattern) => pattern?.complete?.() ?? [])
  return pending.length === 0 ? undefined : Promise.all(pending)
}

const NAME = /^[A-Za-z][\w-]{0,63}$/
const EVENT_TYPE = /^[a-z][\w-]*(:[\w-]+)+$/

/** Defines a pattern. All type parameters are inferred from the definition: do not pass them. */
export function definePattern<
  const Name extends string,
  Input extends Schema,
  Output extends Schema,
  Events extends EventSchemas = Record<never, Schema>,
>(
  pattern: PatternDefinition<{ input: Input; output: Output; events: Events }> & { name: Name },
): Pattern<Name, { input: SchemaInput<Input>; output: SchemaInput<Output> }> {
  const { name, events = {} } = pattern
  if (!NAME.test(name)) {
    throw new TroupeError('invalid_input', `\`name\` of a pattern is invalid: '${name}'`, {
      hint: 'use a letter, then up to 63 letters, digits, _ or -',
    })
  }
  for (const type of Object.keys(events)) {
    if (EVENT_TYPE.test(type) && !isKernelEventType(type)) continue
    const problem = isKernelEventType(type) ? 'is an event of the kernel' : 'is not a namespaced event type'
    throw new TroupeError('invalid_input', `\`events\` of the pattern '${name}': '${type}' ${problem}`, {
      hint: `use a type such as '${name.toLowerCase()}:progress'`,
    })
  }
  schemaKind(pattern.input, `\`input\` of the pattern '${name}'`)
  schemaKind(pattern.output, `\`output\` of the pattern '${name}'`)
  // The schemas are checked before every use, which no type can express.
  return pattern as never
}

/** A pattern's result; its run takes `stop_reason` and `detail` as its own. */
export interface PatternResult extends ToolResult {
  stop_reason?: StopReason
  detail?: ErrorRecord
  /**
   * The errors for which the result is incomplete (`stop_reason: 'partial'`), or that made it fail besides `detail`. `resume` retries the steps that
   * failed for a reason outside the run.
   */
  incomplete?: readonly ErrorRecord[]
  /** Removed: `resume` finds out what depends on a failed step. */
  retry_keys?: never
  /** The session that did the work, if known only afterwards. */
  performed_by?: { agent: string; sub_session_id: string }
  /** Background sessions that it started. */
  started?: string[]
  /** Background sessions whose results it returned. */
  collected?: string[]
  /** Enters or leaves plan mode, in which the session and its sub-sessions change nothing. */
  plan_mode?: boolean
}

/** The patterns whose tools agents can have. */
export function toolPatterns(patterns: readonly Pattern[]): Pattern[] {
  return patterns.flatMap((pattern) => pattern.tool ?? (pattern.only === 'run' ? [] : pattern))
}

export type PatternTool = ToolMetadata & { kind: 'pattern'; pattern: Pattern }
