import type { Schema } from './standard-schema.ts'
import * as z from './zod.ts'

/*
 * One schema says what may be set in the input of a pattern, and by whom. Programs set every field.
 */

interface InputForms {
  /** The form for callers from outside; `false`: they cannot set it. Default: the same as for programs. */
  request?: z.ZodType | false
  /** The form that agents see, who pay for it in every turn. Without it, the field is accepted from them and not shown. */
  model?: z.ZodType | true
}

const inputForms = new WeakMap<z.ZodType, InputForms>()

export function setBy<S extends z.ZodType>(field: S, forms: InputForms): S {
  inputForms.set(field, forms)
  return field
}

/** The input that callers from outside may give. */
export function requestInputOf(input: z.ZodObject): z.ZodObject {
  return withForms(input, ({ request }, field) => request ?? field)
}

const modelInputs = new WeakMap<z.ZodObject, Map<string, Schema>>()
const MAX_MODEL_INPUTS = 100

/** The input that agents see. `known` has forms of fields that depend on the run, such as names of agents; the schema is cached by `key`. */
export function modelInputOf(
  input: z.ZodObject,
  key = '',
  known: () => Readonly<Record<string, z.ZodType>> = () => ({}),
): Schema {
  const cache = modelInputs.get(input) ?? new Map<string, Schema>()
  modelInputs.set(input, cache)
  let schema = cache.get(key)
  if (!schema) {
    const forms = known()
    schema = withForms(input, ({ model }, field, name) => forms[name] ?? (model === true ? field : model))
    if (cache.size > MAX_MODEL_INPUTS) cache.clear()
    cache.set(key, schema)
  }
  return schema
}

function withForms(
  input: z.ZodObject,
  form: (forms: InputForms, field: z.ZodType, name: string) => z.ZodType | false | undefined,
): z.ZodObject {
  const fields = Object.entries(input.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const given = form(inputForms.get(field) ?? {}, field, name)
    return given ? [[name, given] as const] : []
  })
  return z.strictObject(Object.fromEntries(fields))
}
