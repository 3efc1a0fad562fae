import type { Pattern, PatternTypes } from '../kernel/pattern.ts'
import type { Schema, SchemaInput } from '../schema/standard-schema.ts'
import type { BuiltInPattern } from './built-in-patterns.ts'

/*
 * Types of `run` and `stream`. A pattern is looked up by its name among the built-in ones and those passed to `createTroupe`. For
 * a name that the compiler does not know, input and output are `unknown`.
 */

/** The names that the compiler knows, and any other string. */
export type PatternName<Patterns extends readonly Pattern[]> = KnownName<BuiltInPattern | Patterns[number]> | OtherName

type OtherName = string & Record<never, never>
type KnownName<P extends Pattern> = P extends unknown ? (string extends P['name'] ? never : P['name']) : never

/** The types of the pattern with this name. */
export type TypesOf<Patterns extends readonly Pattern[], Name extends string> = string extends Name
  ? PatternTypes
  : Extract<BuiltInPattern | Patterns[number], { name: Name }> extends Pattern<Name, infer Types>
    ? Types
    : PatternTypes

/** The input of a pattern that takes a schema in its field `output`, as `task` does. */
type TakesSchema = { output?: Schema | undefined }

/** Inputs are only read: lists may be written `as const`. */
type Readable<T> = T extends object ? { readonly [Field in keyof T]: Readable<T[Field]> } : T

/** The input of a run. An `output` field that takes a schema keeps the type of that schema. */
export type RunInput<Types extends PatternTypes, Output> = Types['input'] extends TakesSchema
  ? Readable<Omit<Types['input'], 'output'>> & { output?: Output }
  : Readable<Types['input']>

/** The output of a run. With an `output` schema in the input, `object` has the type of that schema. */
export type RunOutput<Types extends PatternTypes, Output> = Types['input'] extends TakesSchema
  ? Omit<Types['output'], 'object'> & OutputObject<Output>
  : Types['output']

type OutputObject<Output> = Schema extends Output ? { object?: unknown } : { object: SchemaInput<Output> }
