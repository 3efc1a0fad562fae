import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ErrorBody } from '../contract.ts'

/** An error to throw: the response has this status and body. */
export function refuse(status: ContentfulStatusCode, error: ErrorBody['error']): HTTPException {
  return new HTTPException(status, { message: error.message, cause: { error } satisfies ErrorBody })
}
