import type { Troupe } from '../../src/index.ts'
import { openCredentials } from '../../src/surfaces/http/auth/credentials.ts'
import { createRequestLimits } from '../../src/surfaces/http/checks/request-limits.ts'
import type { Scope } from '../../src/surfaces/http/contract.ts'
import { startHttpServer } from '../../src/surfaces/http/http-server.ts'

export interface TestHttpServer {
  url: string
  /** Headers of a program with these scopes; all by default. */
  headers(scopes?: readonly Scope[]): Promise<Record<string, string>>
  /** Errors that callers did not see. */
  errors: Error[]
  close(): Promise<void>
}

/** The whole HTTP API on a port of its own, which also executes runs. */
export async function startTestHttpServer(troupe: Troupe): Promise<TestHttpServer> {
  const credentials = await openCredentials(undefined)
  const errors: Error[] = []
  const server = await startHttpServer(
    {
      troupe,
      executes: true,
      runLimits: {},
      credentials,
      limits: createRequestLimits(),
      readPageFile: async () => undefined,
      onError: (error) => void errors.push(error),
    },
    { host: '127.0.0.1', port: 0 },
  )
  return {
    url: server.address,
    errors,
    async headers(scopes = ['read', 'run', 'approve']) {
      const token = await credentials.issue({ kind: 'token', principal: 'ada', scopes: [...scopes] })
      return { authorization: `Bearer ${token}`, 'x-troupe-request': '1', 'content-type': 'application/json' }
    },
    close: () => server.close(),
  }
}
