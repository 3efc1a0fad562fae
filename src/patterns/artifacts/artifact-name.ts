import { z } from 'zod'

/** Looks like a path so that pieces can be grouped, and is none: nothing is ever written to a disk under it. */
export const artifactName = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._/-]*$/u, 'a name begins with a letter or digit; then also space . _ - /')
  .describe('The name of the piece, for example `design/api.md`.')
