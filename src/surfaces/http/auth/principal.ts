import type { Scope } from '../contract.ts'

export const SCOPES: readonly Scope[] = ['read', 'run', 'approve']

/** The authenticated caller. Everything that a request does is done in this name. */
export interface Principal {
  name: string
  scopes: readonly Scope[]
  /** The project whose runs, questions and artifacts the caller sees. Default: that of the troupe. */
  project?: string
  /** The token of the page whose session the request proved: it needs no other header for writes. */
  csrf?: string
}
