import type { Client, Transport } from '@modelcontextprotocol/client'
import type { ToolCall, ToolProgress } from '../../kernel/tool.ts'
import { PACKAGE_VERSION } from '../../schema/package-version.ts'
import * as z from '../../schema/zod.ts'
import type { SandboxedProcess } from '../sandbox/sandbox.ts'
import type { AgentServerAccess } from './agent-server-access.ts'
import { checkServerHost, createPinnedFetch } from './agent-server-access.ts'
import type { LaunchContext } from './launch-server.ts'
import { launchMcpServer } from './launch-server.ts'
import { limitMessages } from './limit-response.ts'
import type { HttpSpec, ServerSpec } from './mcp-server-config.ts'
import { createProcessTransport } from './process-transport.ts'

/*
 * One connection to an MCP server, with the official client. Results are parsed leniently: one invalid tool must not disable
 * the others, and the result of an action must not be lost because of its format.
 */

type Sdk = typeof import('@modelcontextprotocol/client')

/** Disables the client's own timeouts; `McpServer` enforces ours. */
const NO_TIMEOUT = 2_147_483_647
const MAX_PAGES = 64
/** Debounces `tools/list_changed` notifications. */
const DEBOUNCE_MS = 100

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const resultSchema = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
})

export type McpToolResult = z.infer<typeof resultSchema>

/** The call of an agent. */
export type McpCall = Pick<ToolCall, 'signal' | 'reportProgress'>

export interface McpConnection {
  /** All tools, unvalidated. */
  list(signal: AbortSignal): Promise<unknown[]>
  call(tool: string, args: Record<string, unknown>, call: McpCall): Promise<McpToolResult>
  /** Resolves with the reason when the server process exits; never for an HTTP server. */
  readonly ended: Promise<string>
  /** Marks the start of a call. The returned function ends it and returns notes about repairs in the workspace. */
  beginWork(): () => readonly string[]
  close(): Promise<void>
}

export interface ConnectContext extends LaunchContext {
  /** Limits of an agent-provided server; `undefined` for servers of the configuration. */
  agentAccess: AgentServerAccess | undefined
  signal: AbortSignal
  onListChanged(): void
  /** Called with the last lines that a server process wrote to stderr. */
  onOutput?(tail: string): void
}

/** Starts or reaches a server and performs the MCP handshake. On failure, a started process is killed. */
export async function connectMcpServer(spec: ServerSpec, context: ConnectContext): Promise<McpConnection> {
  const sdk = await import('@modelcontextprotocol/client')
  try {
    return await handshake(sdk, await openTransport(sdk, spec, context), { context, mode: 'legacy' })
  } catch (thrown) {
    // A server that supports only the newer protocol rejects the older handshake, which all others accept.
    if (!sdk.ProtocolError.isInstance(thrown) || context.signal.aborted) throw thrown
    return handshake(sdk, await openTransport(sdk, spec, context), { context, mode: 'auto' })
  }
}

interface OpenTransport {
  transport: Transport
  ended: Promise<string>
  /** Terminates the session of an HTTP server. */
  endSession(): Promise<void>
  beginWork?: SandboxedProcess['beginWork']
}

async function openTransport(sdk: Sdk, spec: ServerSpec, context: ConnectContext): Promise<OpenTransport> {
  if (spec.kind === 'http') return openHttpTransport(sdk, spec, context.agentAccess)
  const serverProcess = await launchMcpServer(spec, context)
  const transport = createProcessTransport(serverProcess, sdk, context.onOutput)
  return { transport, ended: transport.ended, endSession: async () => {}, beginWork: serverProcess.beginWork }
}

function openHttpTransport(sdk: Sdk, { url, headers }: HttpSpec, access: AgentServerAccess | undefined): OpenTransport {
  if (access) checkServerHost(access, url)
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: limitMessages(access ? createPinnedFetch(access) : fetch),
  })
  const send = transport.send.bind(transport)
  // Without this, the client waits forever for a response whose stream has ended.
  transport.send = (message, options) => {
    const id = !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined
    if (id === undefined) return send(message, options)
    const error = { code: sdk.ProtocolErrorCode.InternalError, message: STREAM_ENDED }
    const onRequestStreamEnd = () => transport.onmessage?.({ jsonrpc: '2.0', id, error })
    return send(message, { ...options, onRequestStreamEnd })
  }
  return { transport, ended: new Promise(() => {}), endSession: () => transport.terminateSession() }
}

const STREAM_ENDED = 'the connection ended before the response'

/** Whether an error means that the server is unreachable or has lost our session. */
export function isConnectionLoss(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  const status = 'status' in thrown ? thrown.status : undefined
  // `fetch` fails with a TypeError; an expired session is answered with 404.
  return thrown instanceof TypeError || status === 404 || thrown.message.includes(STREAM_ENDED)
}

async function handshake(
  sdk: Sdk,
  open: OpenTransport,
  { context, mode }: { context: ConnectContext; mode: 'legacy' | 'auto' },
): Promise<McpConnection> {
  const onChanged = () => context.onListChanged()
  const client = new sdk.Client(
    { name: 'troupe', version: PACKAGE_VERSION },
    {
      capabilities: {},
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, debounceMs: DEBOUNCE_MS, onChanged } },
    },
  )
  client.onerror = () => {}
  try {
    await client.connect(open.transport, { signal: context.signal, timeout: NO_TIMEOUT })
    return toConnection(client, open)
  } catch (thrown) {
    const ended = await Promise.race([open.ended, Promise.resolve(undefined)])
    await open.transport.close().catch(() => {})
    throw ended === undefined ? thrown : new Error(`the server exited: ${ended}`, { cause: thrown })
  }
}

function toConnection(client: Client, { ended, endSession, beginWork }: OpenTransport): McpConnection {
  const options = (signal: AbortSignal) => ({ signal, timeout: NO_TIMEOUT })
  return {
    ended,
    async list(signal) {
      const tools: unknown[] = []
      // A server without the tools capability does not implement `tools/list`.
      if (!client.getServerCapabilities()?.tools) return tools
      let cursor: string | undefined
      for (let page = 0; page < MAX_PAGES; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const result = await client.request({ method: 'tools/list', params }, pageSchema, options(signal))
        tools.push(...result.tools)
        cursor = result.nextCursor
        if (cursor === undefined) break
      }
      return tools
    },
    call(name, args, { signal, reportProgress }) {
      // Asking for progress also lets a server know that someone waits.
      const onprogress = (progress: ToolProgress) => reportProgress?.(progress)
      const params = { name, arguments: args }
      return client.request({ method: 'tools/call', params }, resultSchema, { ...options(signal), onprogress })
    },
    beginWork: () => beginWork?.() ?? (() => []),
    async close() {
      await endSession().catch(() => {})
      await client.close()
    },
  }
}
