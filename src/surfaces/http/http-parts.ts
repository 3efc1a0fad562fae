import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Limits, Troupe } from '../../index.ts'
import type { Principal } from './auth/principal.ts'
import type { RequestLimits } from './checks/request-limits.ts'

/** The application with what its middleware sets. */
export type HttpApp = Hono<HttpEnvironment>

export interface HttpEnvironment {
  Bindings: Partial<HttpBindings>
  /** `troupe` is that of the project of the caller. */
  Variables: { principal: Principal; troupe: Troupe }
}

/** The parts that routes work with. */
export interface HttpParts {
  /** In a route, that of the project of the caller. */
  troupe: Troupe
  /** Whether this process executes runs; otherwise it only shows them and stores answers. */
  executes: boolean
  /** The limits of runs that are started here; those of the configuration by default. */
  runLimits: Partial<Limits>
  limits: RequestLimits
  /** The path under which a framework serves the application; empty for the root. */
  basePath: string
  /** Aborted when the server stops: streams end. */
  signal: AbortSignal
  /** Told about work that goes on after the response. */
  waitUntil?(work: Promise<unknown>): void
  /** Told about errors that callers do not see. */
  onError(error: Error): void
}
