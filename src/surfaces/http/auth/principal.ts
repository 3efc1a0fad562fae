import type { Scope } from '../contract.ts'

export const SCOPES: readonly Scope[] = ['read', 'run', 'approve']

/** The authenticated caller. Everything that a request does is done in this name. */
export interface Principal {
  name: string
  scopes: readonly Scope[]
  /** A program with a bearer token, or a page with a cookie. */
  via: 'bearer' | 'cookie'
  /** Proves that a write comes from the page itself; empty for a bearer. */
  csrf: string
}
