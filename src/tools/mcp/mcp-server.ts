import { TroupeError } from '../../errors.ts'
import type { Tool } from '../../kernel/tool.ts'
import type { EnvironmentVariables, World } from '../../kernel/world.ts'
import { withAbort } from '../../kernel/world.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { operatorError } from '../tool-errors.ts'
import type { AgentServerAccess } from './agent-server-access.ts'
import type { McpConnection, McpToolResult } from './mcp-connection.ts'
import type { ServerSpec } from './mcp-server-config.ts'
import { serverLocation } from './mcp-server-config.ts'
import { expandVariables, notExposedMessage, redactSecrets } from './mcp-variables.ts'
import { notifyIfSlow, SLOW_START_MS, withServerTimeout } from './server-timeout.ts'

/*
 * One MCP server.
 * 1. Started on first need, one connection at a time: whoever comes meanwhile waits for the same start.
 * 2. Lost once, it is started again with the next need. Lost twice it stays lost; a server at an address that answered in
 *    between counts anew.
 * 3. Every wait ends: with an answer, an abort, the end of the connection, or a time limit.
 * 4. After `close` nothing is started, and nothing that was started is left.
 * 5. Nothing it was given as a secret is told, not in errors either.
 * 6. Refused once, it stays refused: what was allowed does not change while the troupe lives.
 */

export interface McpLimits {
  /** Milliseconds for starting or reaching a server. */
  connect_ms: number
  /** Milliseconds for its list of tools. */
  list_ms: number
  /** Milliseconds for one call, unless the server's entry has its own `timeout`. */
  call_ms: number
}

export const DEFAULT_MCP_LIMITS: McpLimits = { connect_ms: 10_000, list_ms: 10_000, call_ms: 120_000 }

export interface McpServerContext {
  world: Pick<World, 'sleep'>
  sandbox: Sandbox | undefined
  unconfined: boolean
  /** What servers get that agents bring. */
  agentAccess: AgentServerAccess
  env: EnvironmentVariables
  limits: McpLimits
  report(problem: string): void
  /** The server has told what tools it has. */
  registerTools(server: McpServer, tools: readonly Tool[]): void
}

export type McpServerState = 'idle' | 'starting' | 'ready' | 'lost'

const MAX_LOSSES = 2

export class McpServer {
  /** As it stands in the names of its tools. */
  readonly key: string
  readonly spec: ServerSpec
  /** True when agents brought it; else it is for everyone. */
  readonly agentProvided: boolean
  /** What it is called in the registry, tool by tool. */
  tools: readonly string[] = []
  readonly problems: string[] = []
  readonly #site: McpServerContext
  readonly #end = new AbortController()
  #connecting: Promise<McpConnection> | undefined
  #connection: McpConnection | undefined
  #losses = 0
  #lastLoss = ''
  #refused: TroupeError | undefined
  #secrets: readonly string[] = []
  #refreshing = false

  constructor(about: { key: string; spec: ServerSpec; brought: boolean }, site: McpServerContext) {
    this.key = about.key
    this.spec = about.spec
    this.agentProvided = about.brought
    this.#site = site
  }

  get state(): McpServerState {
    if (this.#connection) return 'ready'
    if (this.#connecting) return 'starting'
    return this.#refused || this.#losses >= MAX_LOSSES ? 'lost' : 'idle'
  }

  /** Starts it unless it is there. Whoever cannot wait any longer leaves; the start goes on for the others. */
  ready(): Promise<McpConnection> {
    if (this.#end.signal.aborted) return Promise.reject(this.#end.signal.reason)
    if (this.#connecting) return this.#connecting
    if (this.#refused) return Promise.reject(this.#refused)
    if (this.#losses >= MAX_LOSSES) return Promise.reject(this.#gone())
    const connecting = notifyIfSlow(
      this.#site.world,
      () => this.#slow(),
      () => this.#start(),
    )
    this.#connecting = connecting
    connecting.catch(() => {
      if (this.#connecting === connecting) this.#connecting = undefined
    })
    return connecting
  }

  async call(
    tool: { name: string; kind: string },
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<McpToolResult> {
    signal.throwIfAborted()
    const connection = await withAbort(this.ready(), signal)
    const over = connection.beginWork()
    try {
      const result = await withAbort(connection.call(tool.name, args, signal), signal)
      if (this.spec.kind === 'http') this.#losses = 0
      return withNotes(result, over())
    } catch (thrown) {
      for (const note of over()) this.#report(note)
      if (signal.aborted) throw signal.reason
      throw await this.#failure(thrown, tool, connection)
    }
  }

  async close(): Promise<void> {
    this.#end.abort(operatorError(`the MCP server '${this.key}' was closed`))
    const connection = await this.#connecting?.catch(() => undefined)
    await connection?.close().catch(() => {})
    this.#connection = undefined
    this.#connecting = undefined
  }

  async #start(): Promise<McpConnection> {
    const { limits, env, sandbox, unconfined } = this.#site
    const agentAccess = this.agentProvided ? this.#site.agentAccess : undefined
    const { connectMcpServer } = await import('./mcp-connection.ts')
    let connection: McpConnection | undefined
    try {
      const { spec, secrets, unexposed } = expandVariables(this.spec, env, agentAccess?.exposeEnv)
      this.#secrets = secrets
      if (unexposed.length > 0) this.#report(`${notExposedMessage(unexposed)}; what it has in place of it is used`)
      const onListChanged = () => void this.#refresh()
      connection = await this.#within(limits.connect_ms, 'start', (signal) =>
        connectMcpServer(spec, {
          signal,
          sandbox,
          unconfined,
          write: !this.agentProvided,
          agentAccess,
          env,
          onListChanged,
        }),
      )
      await this.#list(connection)
      this.#end.signal.throwIfAborted()
    } catch (thrown) {
      await connection?.close().catch(() => {})
      if (this.#end.signal.aborted) throw this.#end.signal.reason
      throw this.#unstarted(thrown as Error)
    }
    this.#connection = connection
    const live = connection
    void live.ended.then((why) => this.#lost(live, why))
    return live
  }

  async #list(connection: McpConnection): Promise<void> {
    const { limits } = this.#site
    const listed = await this.#within(limits.list_ms, 'list its tools', (signal) => connection.list(signal))
    const { parseMcpTools } = await import('./mcp-tool.ts')
    const timeout_ms = this.spec.timeout_ms ?? limits.call_ms
    const { tools, problems } = await parseMcpTools(listed, {
      server: this.key,
      timeout_ms,
      agentProvided: this.agentProvided,
      trusted: !this.agentProvided && this.spec.trust,
      allowedTools: this.spec.allowedTools,
      call: (tool, args, signal) => this.call(tool, args, signal),
    })
    for (const problem of problems) this.#report(problem)
    this.#site.registerTools(this, tools)
  }

  /** The server said that it has other tools now; sessions that begin later get them. */
  async #refresh(): Promise<void> {
    const connection = this.#connection
    if (!connection || this.#refreshing) return
    this.#refreshing = true
    try {
      await this.#list(connection)
    } catch (thrown) {
      // A server that is gone is told of where it is missed.
      if (this.#connection === connection)
        this.#report(`its changed tools could not be read: ${(thrown as Error).message}`)
    } finally {
      this.#refreshing = false
    }
  }

  #within<T>(ms: number, what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withServerTimeout(this.#site.world, { ms, what, end: this.#end.signal }, work)
  }

  #lost(connection: McpConnection, why: string): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#connecting = undefined
    if (this.#end.signal.aborted) return
    this.#losses += 1
    this.#lastLoss = redactSecrets(this.#secrets, why)
  }

  #unstarted(error: Error): TroupeError {
    this.#losses += 1
    this.#lastLoss = redactSecrets(this.#secrets, error.message)
    const hint = error instanceof TroupeError && error.hint ? error.hint : `check it: ${serverLocation(this.spec)}`
    if (error instanceof TroupeError && error.code === 'denied') {
      const words = `the MCP server '${this.key}' was not started: ${this.#lastLoss}`
      this.#refused = new TroupeError('denied', words, {
        hint: redactSecrets(this.#secrets, hint),
        responsible: 'operator',
      })
      this.problems.push(this.#lastLoss)
      return this.#refused
    }
    return operatorError(`the MCP server '${this.key}' could not be started: ${this.#lastLoss}`, hint)
  }

  #slow(): void {
    const { connect_ms, list_ms } = this.#site.limits
    const words = `is not ready after ${SLOW_START_MS} ms; it is waited for up to ${connect_ms + list_ms} ms`
    if (!this.#end.signal.aborted) this.#site.report(`the MCP server '${this.key}' ${words}`)
  }

  #gone(): TroupeError {
    const hint = `do without its tools, or say what you needed; an operator can check ${serverLocation(this.spec)}`
    return operatorError(`the MCP server '${this.key}' failed twice and is not started again: ${this.#lastLoss}`, hint)
  }

  /** A call's error, with what the model can do about it. */
  async #failure(
    thrown: unknown,
    tool: { name: string; kind: string },
    connection: McpConnection,
  ): Promise<TroupeError> {
    const { isConnectionLoss } = await import('./mcp-connection.ts')
    if (this.spec.kind === 'http' && isConnectionLoss(thrown)) {
      this.#lost(connection, (thrown as Error).message)
      void connection.close().catch(() => {})
    }
    const words = redactSecrets(this.#secrets, thrown instanceof Error ? thrown.message : String(thrown))
    if (this.#connection === connection) {
      return new TroupeError('tool_failed', `the MCP server '${this.key}' refused ${tool.name}: ${words}`)
    }
    const effect = tool.kind === 'read' ? '' : 'it may or may not have taken effect: check before you call it again; '
    const next = this.#losses < MAX_LOSSES ? 'the server is started again with the next call' : 'do without its tools'
    return new TroupeError(
      'tool_failed',
      `the MCP server '${this.key}' was lost while it worked on ${tool.name}: ${this.#lastLoss}`,
      { hint: effect + next, responsible: 'operator', retry: this.#losses < MAX_LOSSES },
    )
  }

  #report(problem: string): void {
    const told = redactSecrets(this.#secrets, problem)
    if (this.problems.includes(told)) return
    this.problems.push(told)
    this.#site.report(`MCP server '${this.key}': ${told}`)
  }
}

/** An answer with what had to be put right after the call, for whoever called to know. */
function withNotes(result: McpToolResult, notes: readonly string[]): McpToolResult {
  if (notes.length === 0) return result
  return { ...result, content: [...(result.content ?? []), { type: 'text', text: notes.join('\n') }] }
}
