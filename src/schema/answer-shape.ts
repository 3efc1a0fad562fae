import type { JsonSchema } from './standard-schema.ts'

/*
 * The shape of a typed answer, as plain data, and its JSON Schema for structured output. Every provider accepts it in strict mode: closed objects whose keys
 * are all required, `null` instead of an optional key, and no bounds, which most servers ignore.
 */

/** `?` means that it may be `null`. An ordinal is the number of something, as text: some models give its name instead. */
type SimpleField =
  | 'text'
  | 'text?'
  | 'number'
  | 'integer'
  | 'integer?'
  | 'confidence'
  | 'verdict'
  | 'verdict?'
  | 'ordinal'
  | 'any'

/** One of these words, in any spelling. */
interface ChoiceField<T extends string = string> {
  readonly type: 'choice'
  readonly of: readonly T[]
  /** Other words for them. */
  readonly words?: Readonly<Record<string, T>>
  /** The choice that an unknown word counts as, and a missing one. Without it, there is none. */
  readonly unknown?: T
  readonly missing?: T
}

/** One of these things, by its name in any spelling; or one of so many, by its number from 1. */
interface ReferenceField<T extends string = string> {
  readonly type: 'reference'
  readonly to: readonly T[] | number
}

/** A list is written as one element, an object as its fields. */
export type AnswerField = SimpleField | ChoiceField | ReferenceField | readonly [AnswerField] | AnswerFields
export type AnswerFields = { readonly [name: string]: AnswerField }

export interface AnswerShape {
  readonly fields: AnswerFields
  /** Rules about the fields for the model, one sentence or more each. */
  readonly rules?: readonly string[]
  /** A valid answer for the prompt. Its texts describe what belongs there; one that comes back as an answer counts as missing. */
  readonly example: object
  /** Other names that models use for fields: `{ id: 'task_id' }`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The field that a text is in a list of objects. */
  readonly bare?: string
  /** Fields of which half may say the opposite of the whole: incomplete in an answer that was cut off, they are missing. */
  readonly whole?: readonly string[]
  /** Text fields that count even if they are those of the example. */
  readonly verbatim?: readonly string[]
}

/** A field as it was read. What is missing or cannot be read is `null`, an empty text or an empty list. */
export type FieldValue<F> = F extends 'text' | 'ordinal'
  ? string
  : F extends 'text?'
    ? string | null
    : F extends 'verdict' | 'verdict?'
      ? boolean | null
      : F extends 'number' | 'integer' | 'integer?' | 'confidence'
        ? number | null
        : F extends { type: 'choice'; of: readonly (infer T)[] }
          ? F extends { missing: string; unknown: string }
            ? T
            : T | null
          : F extends { type: 'reference'; to: readonly (infer T)[] }
            ? T | null
            : F extends { type: 'reference' }
              ? number | null
              : F extends readonly [infer Item]
                ? ItemValue<Item>[]
                : F extends AnswerFields
                  ? AnswerValue<F> | null
                  : unknown

type ItemValue<F> = NonNullable<FieldValue<F>>

export type AnswerValue<F extends AnswerFields> = { -readonly [Name in keyof F]: FieldValue<F[Name]> }

const SIMPLE_SCHEMAS: Readonly<Record<SimpleField, JsonSchema>> = {
  text: { type: 'string' },
  'text?': { type: ['string', 'null'] },
  number: { type: 'number' },
  integer: { type: 'integer' },
  'integer?': { type: ['integer', 'null'] },
  confidence: { type: 'number' },
  verdict: { type: 'boolean' },
  'verdict?': { type: ['boolean', 'null'] },
  ordinal: { type: 'integer' },
  any: { type: ['number', 'string', 'boolean', 'null'] },
}

/** The strict JSON Schema of an object with these fields. */
export function toStrictSchema(fields: AnswerFields): JsonSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)]))
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function fieldSchema(field: AnswerField): JsonSchema {
  if (typeof field === 'string') return SIMPLE_SCHEMAS[field]
  if (isListField(field)) return { type: 'array', items: fieldSchema(field[0]) }
  if (isChoiceField(field)) return { type: 'string', enum: [...field.of] }
  if (!isReferenceField(field)) return toStrictSchema(field)
  return typeof field.to === 'number' ? SIMPLE_SCHEMAS.integer : { type: 'string', enum: [...field.to] }
}

export function isListField(field: AnswerField): field is readonly [AnswerField] {
  return Array.isArray(field)
}

/** `choice` and `reference` are no types of a field, so that an object with a field `type` is not mistaken for one. */
export function isChoiceField(field: AnswerField): field is ChoiceField {
  return typeof field === 'object' && 'type' in field && field.type === 'choice'
}

export function isReferenceField(field: AnswerField): field is ReferenceField {
  return typeof field === 'object' && 'type' in field && field.type === 'reference'
}
