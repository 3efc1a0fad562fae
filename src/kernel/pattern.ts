import type { z } from 'zod'
import type { ErrorRecord } from '../errors.ts'
import type { Context } from './context.ts'
import type { StopReason } from './event.ts'
import type { Roster } from './roster.ts'
import type { SteerAction } from './steer-action.ts'
import type { ToolCategory, ToolMetadata, ToolResult } from './tool.ts'

/**
 * One definition of a way to work together. The library function, the tool an agent sees and the command are all made
 * from it.
 */
export interface PatternDefinition<Input> {
  name: string
  description: string
  version: number
  input: z.ZodType<Input>
  output: z.ZodType
  category: ToolCategory
  /** True when it puts other agents to work, which the depth limit bounds. */
  delegates: boolean
  /** True when an agent has it only if its file names it. */
  on_request?: true
  /** Keys of older versions that this version calls differently, by whole path segments. */
  renamedKeys?: Readonly<Record<string, string>>
  /** Refuses an input that cannot work, before a run is made of it. */
  check?(roster: Roster, input: Input): void
  /** Refuses what people ask of a run of it when it cannot be meant; absent: it cannot be steered. */
  checkSteer?(input: Input, action: SteerAction): void
  /** What a call is about, for permission rules: names as the roster spells them. */
  subject?(input: Input, context: Context): string
  /** What `tool:pre`, `tool:post` and `tool:error` say beyond the call itself. */
  eventFields?(context: Context, input: Input): Record<string, unknown>
  /** The tool's input schema for one caller: enum values come from the live roster. */
  inputFor?(context: Context): z.ZodType
  execute(context: Context, input: Input): Promise<PatternResult>
}

/** A pattern whose input type is forgotten: inputs are checked against its schema before they reach it. */
export interface Pattern extends Omit<PatternDefinition<never>, 'input'> {
  input: z.ZodType
}

export function definePattern<Input>(pattern: PatternDefinition<Input>): Pattern {
  return pattern
}

/** What a pattern returns; the run that it is takes its stop reason and its error from here. */
export interface PatternResult extends ToolResult {
  stop_reason?: StopReason
  detail?: ErrorRecord
  /** When several steps failed: those beside the one of `detail` that a resumed run tries again too. */
  retry_keys?: string[]
  /** The session that did the work, where that is known only afterwards. */
  performed_by?: { agent: string; sub_session_id: string }
  /** Sessions it left working in the background, and those whose results it brought. */
  started?: string[]
  collected?: string[]
  /** Enters or leaves plan mode: while it is on, the session and those it starts may change nothing. */
  plan_mode?: boolean
}

export type PatternTool = ToolMetadata & { kind: 'pattern'; pattern: Pattern }

export function patternTool(pattern: Pattern): PatternTool {
  const { name, description, input, category } = pattern
  return { kind: 'pattern', name, description, input, category, pattern }
}
