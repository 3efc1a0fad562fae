import type { HttpBindings } from '@hono/node-server'
import type { Hono } from 'hono'
import type { Limits, Troupe } from '../../index.ts'
import type { Credentials } from './auth/credentials.ts'
import type { Principal } from './auth/principal.ts'
import type { RequestLimits } from './checks/request-limits.ts'
import type { PageFile } from './page/page-files.ts'

/** The application with what its middleware sets. */
export type HttpApp = Hono<HttpEnvironment>

export interface HttpEnvironment {
  Bindings: Partial<HttpBindings>
  Variables: { principal: Principal }
}

/** The parts that the HTTP API works with. */
export interface HttpParts {
  troupe: Troupe
  project: string
  /** The version of the package. */
  version: string
  /** Whether this process executes runs; otherwise it only shows them and stores answers. */
  executes: boolean
  /** The limits of runs that are started here; those of the configuration by default. */
  runLimits: Partial<Limits>
  credentials: Credentials
  limits: RequestLimits
  /** The hosts that clients may name, such as `127.0.0.1:4747`. Changed when the port is known. */
  hosts: AllowedHosts
  /** Aborted when the server stops: streams end. */
  signal: AbortSignal
  /** A file of the page by its name; `undefined` if there is none. */
  readPageFile(name: string): Promise<PageFile | undefined>
  /** Told about errors that callers do not see. */
  onError(error: Error): void
}

export interface AllowedHosts {
  /** Values of the `Host` header, in lower case. */
  names: ReadonlySet<string>
  /** Values of the `Origin` header. */
  origins: ReadonlySet<string>
  /** The name of the cookie: browsers do not keep cookies of different ports apart. */
  cookie: string
}
