import { readFileSync } from 'node:fs'
import type { Client, Transport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { SandboxedProcess } from '../sandbox/sandbox.ts'
import type { AgentServerAccess } from './agent-server-access.ts'
import { checkServerHost, createPinnedFetch } from './agent-server-access.ts'
import type { LaunchContext } from './launch-server.ts'
import { launchMcpServer } from './launch-server.ts'
import type { HttpSpec, ServerSpec } from './mcp-server-config.ts'
import { createProcessTransport } from './process-transport.ts'

/*
 * One connection to a server, with the client of the MCP project. Results are read leniently: what one tool says amiss
 * must not cost the others, and what an action answered must not get lost over its form.
 */

type Sdk = typeof import('@modelcontextprotocol/client')

/** The client has time limits of its own; ours are the ones that count. */
const NO_TIMEOUT = 2_147_483_647
const MAX_PAGES = 64
/** A server that says often that its list changed is asked once. */
const DEBOUNCE_MS = 100

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const resultSchema = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

export type McpToolResult = z.infer<typeof resultSchema>

export interface McpConnection {
  /** All its tools, as it describes them. */
  list(signal: AbortSignal): Promise<unknown[]>
  call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpToolResult>
  /** Resolves with the reason when the server's process has ended; never for a server at an address. */
  readonly ended: Promise<string>
  /** A call begins. What is returned ends it, and says what had to be put right in the workspace. */
  beginWork(): () => readonly string[]
  close(): Promise<void>
}

export interface ConnectContext extends LaunchContext {
  /** What a server gets that an agent brought; absent for those of the configuration. */
  agentAccess: AgentServerAccess | undefined
  signal: AbortSignal
  onListChanged(): void
}

/** Starts or reaches a server and greets it. What was started is ended again when that fails. */
export async function connectMcpServer(spec: ServerSpec, site: ConnectContext): Promise<McpConnection> {
  const sdk = await import('@modelcontextprotocol/client')
  try {
    return await handshake(sdk, await openTransport(sdk, spec, site), { site, mode: 'legacy' })
  } catch (thrown) {
    // A server that knows only the newer protocol refuses the older greeting, which all others understand.
    if (!sdk.ProtocolError.isInstance(thrown) || site.signal.aborted) throw thrown
    return handshake(sdk, await openTransport(sdk, spec, site), { site, mode: 'auto' })
  }
}

interface OpenTransport {
  transport: Transport
  ended: Promise<string>
  /** Tells a server at an address that we leave. */
  leave(): Promise<void>
  beginWork?: SandboxedProcess['beginWork']
}

async function openTransport(sdk: Sdk, spec: ServerSpec, site: ConnectContext): Promise<OpenTransport> {
  if (spec.kind === 'http') return openHttpTransport(sdk, spec, site.agentAccess)
  const work = await launchMcpServer(spec, site)
  const transport = createProcessTransport(work, sdk)
  return { transport, ended: transport.ended, leave: async () => {}, beginWork: work.beginWork }
}

function openHttpTransport(sdk: Sdk, { url, headers }: HttpSpec, loan: AgentServerAccess | undefined): OpenTransport {
  if (loan) checkServerHost(loan, url)
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    ...(loan ? { fetch: createPinnedFetch(loan) } : undefined),
  })
  const send = transport.send.bind(transport)
  // The client waits for an answer also when the stream that should bring it is gone.
  transport.send = (message, options) => {
    const id = !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined
    if (id === undefined) return send(message, options)
    const error = { code: sdk.ProtocolErrorCode.InternalError, message: STREAM_ENDED }
    const onRequestStreamEnd = () => transport.onmessage?.({ jsonrpc: '2.0', id, error })
    return send(message, { ...options, onRequestStreamEnd })
  }
  return { transport, ended: new Promise(() => {}), leave: () => transport.terminateSession() }
}

const STREAM_ENDED = 'the connection ended before the answer came'

/** Whether an error means that the server may not be there any more, or no longer knows us. */
export function isConnectionLoss(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  const status = 'status' in thrown ? thrown.status : undefined
  // Fetch fails with a TypeError; sessions that a server forgot are answered with 404.
  return thrown instanceof TypeError || status === 404 || thrown.message.includes(STREAM_ENDED)
}

async function handshake(
  sdk: Sdk,
  reached: OpenTransport,
  { site, mode }: { site: ConnectContext; mode: 'legacy' | 'auto' },
): Promise<McpConnection> {
  const onChanged = () => site.onListChanged()
  const client = new sdk.Client(
    { name: 'troupe', version: packageVersion() },
    {
      capabilities: {},
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: DEBOUNCE_MS, onChanged } },
    },
  )
  client.onerror = () => {}
  try {
    await client.connect(reached.transport, { signal: site.signal, timeout: NO_TIMEOUT })
    return toConnection(client, reached)
  } catch (thrown) {
    const ended = await Promise.race([reached.ended, Promise.resolve(undefined)])
    await reached.transport.close().catch(() => {})
    throw ended === undefined ? thrown : new Error(`it ended: ${ended}`, { cause: thrown })
  }
}

function toConnection(client: Client, { ended, leave, beginWork }: OpenTransport): McpConnection {
  const options = (signal: AbortSignal) => ({ signal, timeout: NO_TIMEOUT })
  return {
    ended,
    async list(signal) {
      const tools: unknown[] = []
      // Some servers have none and know no such question.
      if (!client.getServerCapabilities()?.tools) return tools
      let cursor: string | undefined
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const found = await client.request({ method: 'tools/list', params }, pageSchema, options(signal))
        tools.push(...found.tools)
        cursor = found.nextCursor
        if (cursor === undefined) break
      }
      return tools
    },
    call: (name, args, signal) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, resultSchema, options(signal)),
    beginWork: () => beginWork?.() ?? (() => []),
    async close() {
      await leave().catch(() => {})
      await client.close()
    },
  }
}

function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
