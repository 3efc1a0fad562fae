import { z } from 'zod'

/** A slash only groups names. It is never used as a file path, so path traversal is not possible. */
export const artifactName = z
  .string()
  .min(1)
  .max(200)
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N} ._/-]*$/u,
    'must start with a letter or digit; then letters, digits, space and . _ - / are allowed',
  )
  .describe('The name of the artifact, for example `design/api.md`.')
