/*
 * The part of zod that Troupe uses. The package loads a hundred modules, half of them translations, which takes 70 ms of every first
 * answer. The build bundles these names alone (`.ci/bundle-package.ts`), which takes 10 ms. Schemas of programs come from their own
 * copy of zod: nothing here may depend on the identity of its classes.
 */
export type { core, infer, input, output, ZodObject, ZodType } from 'zod'
export {
  array,
  boolean,
  custom,
  discriminatedUnion,
  enum,
  fromJSONSchema,
  int,
  iso,
  literal,
  looseObject,
  number,
  object,
  preprocess,
  record,
  registry,
  safeParse,
  strictObject,
  string,
  toJSONSchema,
  union,
  unknown,
} from 'zod'
export { $ZodAsyncError } from 'zod/v4/core'
