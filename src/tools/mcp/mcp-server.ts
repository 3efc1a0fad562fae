import { TroupeError } from '../../errors.ts'
import type { Tool } from '../../kernel/tool.ts'
import type { EnvironmentVariables, World } from '../../kernel/world.ts'
import { withAbort } from '../../kernel/world.ts'
import type { Workspace } from '../files/workspace.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { operatorError } from '../tool-errors.ts'
import { withTimer } from '../with-timer.ts'
import type { AgentServerAccess } from './agent-server-access.ts'
import type { McpCall, McpConnection, McpToolResult } from './mcp-connection.ts'
import type { ServerSpec } from './mcp-server-config.ts'
import { isPackageRunner, serverLocation } from './mcp-server-config.ts'
import { expandVariables, notExposedMessage, redactSecrets } from './mcp-variables.ts'
import { SLOW_START_MS, withServerTimeout } from './server-timeout.ts'

/*
 * One MCP server.
 * 1. Started on demand, with one connection at a time: concurrent callers share one start.
 * 2. After the first loss it is restarted on the next use; after the second it stays lost. A successful call of an HTTP
 *    server resets the count.
 * 3. Every wait ends with a response, an abort, the end of the connection, or a timeout.
 * 4. After `close` nothing is started, and no started process is left.
 * 5. Secrets are redacted from all messages, errors included.
 * 6. A denied server stays denied: permissions do not change during the lifetime of a troupe.
 */

export interface McpLimits {
  /** Timeout for installing the package of a server whose command is `npx`, in milliseconds. */
  install_ms: number
  /** Timeout for starting or reaching a server, in milliseconds. */
  connect_ms: number
  /** Timeout for listing its tools, in milliseconds. */
  list_ms: number
  /** Timeout for one call without progress, in milliseconds, unless the entry of the server has a `timeout`. */
  call_ms: number
  /** The longest a call may take that reports progress, which starts `call_ms` again, in milliseconds. */
  call_max_ms: number
}

export const DEFAULT_MCP_LIMITS: McpLimits = {
  install_ms: 180_000,
  connect_ms: 10_000,
  list_ms: 10_000,
  call_ms: 120_000,
  call_max_ms: 3_600_000,
}

export interface McpServerContext {
  world: Pick<World, 'sleep'>
  sandbox: Sandbox | undefined
  unconfined: boolean
  workspace: Workspace | undefined
  /** Limits of agent-provided servers. */
  agentAccess: AgentServerAccess
  env: EnvironmentVariables
  limits: McpLimits
  report(problem: string): void
  /** Called with the tools of the server after each listing. */
  registerTools(server: McpServer, tools: readonly Tool[]): void
}

export type McpServerState = 'idle' | 'starting' | 'ready' | 'lost'

interface CalledTool {
  name: string
  kind: string
}

const MAX_LOSSES = 2

export class McpServer {
  /** The server name as used in tool names. */
  readonly key: string
  readonly spec: ServerSpec
  /** True for a server of an agent file, false for one of the configuration. */
  readonly agentProvided: boolean
  /** The registered names of its tools. */
  tools: readonly string[] = []
  readonly problems: string[] = []
  readonly #context: McpServerContext
  readonly #closing = new AbortController()
  #connecting: Promise<McpConnection> | undefined
  #connection: McpConnection | undefined
  #losses = 0
  #lossReason = ''
  #deniedError: TroupeError | undefined
  #secrets: readonly string[] = []
  #refreshing = false
  /** The last lines that the process wrote to stderr. */
  #output = ''

  constructor(server: { key: string; spec: ServerSpec; agentProvided: boolean }, context: McpServerContext) {
    this.key = server.key
    this.spec = server.spec
    this.agentProvided = server.agentProvided
    this.#context = context
  }

  get state(): McpServerState {
    if (this.#connection) return 'ready'
    if (this.#connecting) return 'starting'
    return this.#deniedError || this.#losses >= MAX_LOSSES ? 'lost' : 'idle'
  }

  /** Starts the server unless it is running. A caller that stops waiting does not stop the start for the others. */
  ready(): Promise<McpConnection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason)
    if (this.#connecting) return this.#connecting
    if (this.#deniedError) return Promise.reject(this.#deniedError)
    if (this.#losses >= MAX_LOSSES) return Promise.reject(this.#lostError())
    const connecting = withTimer(
      this.#context.world.sleep,
      { ms: SLOW_START_MS, onTime: () => this.#reportSlowStart() },
      () => this.#start(),
    )
    this.#connecting = connecting
    connecting.catch(() => {
      if (this.#connecting === connecting) this.#connecting = undefined
    })
    return connecting
  }

  async call(tool: CalledTool, args: Record<string, unknown>, call: McpCall): Promise<McpToolResult> {
    const { signal } = call
    signal.throwIfAborted()
    const connection = await withAbort(this.ready(), signal)
    const endWork = connection.beginWork()
    try {
      const result = await withAbort(connection.call(tool.name, args, call), signal)
      if (this.spec.kind === 'http') this.#losses = 0
      return withNotes(result, endWork())
    } catch (thrown) {
      for (const note of endWork()) this.#report(note)
      if (signal.aborted) throw signal.reason
      throw await this.#toCallError(thrown, tool, connection)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(operatorError(`the MCP server '${this.key}' was closed`, 'resume the run to connect again'))
    const connection = await this.#connecting?.catch(() => undefined)
    await connection?.close().catch(() => {})
    this.#connection = undefined
    this.#connecting = undefined
  }

  async #start(): Promise<McpConnection> {
    const { limits, env, sandbox, unconfined, workspace } = this.#context
    const agentAccess = this.agentProvided ? this.#context.agentAccess : undefined
    const { connectMcpServer } = await import('./mcp-connection.ts')
    const { prepareServer, startTimeout } = await import('./prepare-server.ts')
    let connection: McpConnection | undefined
    try {
      const { spec: expanded, secrets, unexposed } = expandVariables(this.spec, env, agentAccess?.exposeEnv)
      this.#secrets = secrets
      if (unexposed.length > 0) this.#report(`${notExposedMessage(unexposed)}; the default is used instead`)
      const onListChanged = () => void this.#refreshTools()
      this.#output = ''
      const spec = await this.#withTimeout(limits.install_ms, 'be installed', (signal) =>
        prepareServer(expanded, {
          sandbox,
          env,
          workspace,
          agentAccess,
          signal,
          report: (problem) => this.#report(problem),
          notify: (message) => this.#context.report(`MCP server '${this.key}': ${message}`),
        }),
      )
      connection = await this.#withTimeout(startTimeout(spec, limits), 'start', (signal) =>
        connectMcpServer(spec, {
          signal,
          sandbox,
          unconfined,
          write: !this.agentProvided,
          agentAccess,
          env,
          onListChanged,
          onOutput: (output) => {
            this.#output = output
          },
        }),
      )
      await this.#listTools(connection)
      this.#closing.signal.throwIfAborted()
    } catch (thrown) {
      await connection?.close().catch(() => {})
      if (this.#closing.signal.aborted) throw this.#closing.signal.reason
      throw await this.#toStartError(thrown as Error)
    }
    this.#connection = connection
    const live = connection
    void live.ended.then((reason) => this.#recordLoss(live, reason))
    return live
  }

  async #listTools(connection: McpConnection): Promise<void> {
    const { limits } = this.#context
    const listed = await this.#withTimeout(limits.list_ms, 'list its tools', (signal) => connection.list(signal))
    const { parseMcpTools } = await import('./mcp-tool.ts')
    const timeout_ms = this.spec.timeout_ms ?? limits.call_ms
    const { tools, problems } = await parseMcpTools(listed, {
      server: this.key,
      timeout_ms,
      max_timeout_ms: Math.max(timeout_ms, limits.call_max_ms),
      agentProvided: this.agentProvided,
      trusted: !this.agentProvided && this.spec.trust,
      allowedTools: this.spec.allowedTools,
      workspace: this.#context.workspace,
      call: (tool, args, call) => this.call(tool, args, call),
    })
    for (const problem of problems) this.#report(problem)
    this.#context.registerTools(this, tools)
  }

  /** Handles `tools/list_changed`; sessions that start later get the new tools. */
  async #refreshTools(): Promise<void> {
    const connection = this.#connection
    if (!connection || this.#refreshing) return
    this.#refreshing = true
    try {
      await this.#listTools(connection)
    } catch (thrown) {
      // A lost server is reported by the next call instead.
      if (this.#connection === connection)
        this.#report(`listing its changed tools failed: ${(thrown as Error).message}`)
    } finally {
      this.#refreshing = false
    }
  }

  #withTimeout<T>(ms: number, action: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withServerTimeout(this.#context.world, { ms, action, end: this.#closing.signal }, work)
  }

  #recordLoss(connection: McpConnection, reason: string): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    this.#connecting = undefined
    if (this.#closing.signal.aborted) return
    this.#losses += 1
    this.#lossReason = redactSecrets(this.#secrets, reason)
  }

  async #toStartError(error: Error): Promise<TroupeError> {
    const { describeStartFailure } = await import('./start-failure.ts')
    this.#losses += 1
    const failure = { error, output: this.#output }
    this.#lossReason = redactSecrets(this.#secrets, describeStartFailure(this.spec, failure, this.#context))
    const hint = error instanceof TroupeError && error.hint ? error.hint : `check ${serverLocation(this.spec)}`
    if (error instanceof TroupeError && error.code === 'denied') {
      const message = `the MCP server '${this.key}' was not started: ${this.#lossReason}`
      this.#deniedError = new TroupeError('denied', message, {
        hint: redactSecrets(this.#secrets, hint),
        responsible: 'operator',
      })
      this.problems.push(this.#lossReason)
      return this.#deniedError
    }
    return operatorError(`the MCP server '${this.key}' could not be started: ${this.#lossReason}`, hint)
  }

  #reportSlowStart(): void {
    const { install_ms, connect_ms, list_ms } = this.#context.limits
    // A package runner may download first.
    const total_ms = (isPackageRunner(this.spec) ? install_ms : 0) + connect_ms + list_ms
    const message = `is not ready after ${SLOW_START_MS} ms; waiting up to ${total_ms} ms`
    if (!this.#closing.signal.aborted) this.#context.report(`the MCP server '${this.key}' ${message}`)
  }

  #lostError(): TroupeError {
    const hint = `continue without its tools, or report what you need; an operator can check ${serverLocation(this.spec)}`
    return operatorError(`the MCP server '${this.key}' failed twice and is not restarted: ${this.#lossReason}`, hint)
  }

  async #toCallError(thrown: unknown, tool: CalledTool, connection: McpConnection): Promise<TroupeError> {
    const { isConnectionLoss } = await import('./mcp-connection.ts')
    if (this.spec.kind === 'http' && isConnectionLoss(thrown)) {
      this.#recordLoss(connection, (thrown as Error).message)
      void connection.close().catch(() => {})
    }
    const reason = redactSecrets(this.#secrets, thrown instanceof Error ? thrown.message : String(thrown))
    if (this.#connection === connection) {
      return new TroupeError('tool_failed', `the MCP server '${this.key}' rejected ${tool.name}: ${reason}`, {
        hint: 'correct the arguments, or continue without this tool',
      })
    }
    const effect = tool.kind === 'read' ? '' : 'the call may or may not have taken effect: check before you repeat it; '
    const next = this.#losses < MAX_LOSSES ? 'the next call restarts the server' : 'continue without its tools'
    return new TroupeError(
      'tool_failed',
      `the MCP server '${this.key}' was lost during ${tool.name}: ${this.#lossReason}`,
      { hint: effect + next, responsible: 'operator', retry: this.#losses < MAX_LOSSES },
    )
  }

  #report(problem: string): void {
    const redacted = redactSecrets(this.#secrets, problem)
    if (this.problems.includes(redacted)) return
    this.problems.push(redacted)
    this.#context.report(`MCP server '${this.key}': ${redacted}`)
  }
}

/** Adds notes about repairs in the workspace to the result, so that the caller learns of them. */
function withNotes(result: McpToolResult, notes: readonly string[]): McpToolResult {
  if (notes.length === 0) return result
  return { ...result, content: [...(result.content ?? []), { type: 'text', text: notes.join('\n') }] }
}
