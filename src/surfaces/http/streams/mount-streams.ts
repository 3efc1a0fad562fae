import type { Troupe } from '../../../index.ts'
import type { Principal } from '../auth/principal.ts'
import type { HttpApp } from '../http-parts.ts'
import type { DocumentedRoute } from '../routes/route.ts'

/** The parts that streams work with. */
export interface StreamParts {
  troupe: Troupe
  /** Aborted when the server stops: streams end. */
  signal: AbortSignal
  /** Counts a stream of the caller; throws 429 above the limit. Returns the function that ends it. */
  openStream(principal: Principal): () => void
}

/**
 * Adds the streams. Callers are authenticated and have the scope `read`: `context.get('principal')`. A request for a route that is also
 * answered with JSON, such as `/api/runs/:run_id/events`, is passed on with `next()` unless it accepts `text/event-stream`. Returns the
 * routes for the OpenAPI document.
 */
export function mountStreams(_app: HttpApp, _parts: StreamParts): readonly DocumentedRoute[] {
  return []
}
