import type { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import type { SandboxedProcess } from '../sandbox/sandbox.ts'
import { operatorError } from '../tool-errors.ts'
import { withTimer } from '../with-timer.ts'

/*
 * One running language server.
 * 1. Every request ends with a response, an error, the exit of the server, or a timeout. After a timeout the server is
 *    stopped, because it may hang forever.
 * 2. A document is opened or synchronized before every request about it.
 */

export interface LanguageServerLimits {
  start_ms: number
  request_ms: number
}

export const DEFAULT_LANGUAGE_SERVER_LIMITS: LanguageServerLimits = { start_ms: 30_000, request_ms: 30_000 }

const RESTART_HINT = 'try again: the next call restarts it; the operator can choose another server with `lsp`'

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

interface PendingRequest {
  resolve(result: unknown): void
  reject(error: Error): void
}

export class LanguageServer {
  /** True after a failure or `stop`; the instance cannot be reused. */
  isStopped = false
  private readonly pending = new Map<number, PendingRequest>()
  private readonly documents = new Map<string, { version: number; text: string }>()
  private readonly serverProcess: SandboxedProcess
  private readonly limits: LanguageServerLimits
  private readonly sleep: Sleep
  private next = 1
  private stderrTail = ''

  constructor(serverProcess: SandboxedProcess, limits: LanguageServerLimits, sleep: Sleep) {
    this.serverProcess = serverProcess
    this.limits = limits
    this.sleep = sleep
    const { stdout, stderr, stdin } = serverProcess.child
    if (stdout) {
      readLspMessages(
        stdout,
        (message) => this.receive(message),
        (reason) => this.fail(reason),
      )
    }
    stderr?.on('data', (chunk: Buffer) => {
      this.stderrTail = (this.stderrTail + chunk.toString('utf8')).slice(-500)
    })
    stdin?.on('error', () => {})
    serverProcess.ended.then(
      () => this.fail(`it exited${this.stderrTail === '' ? '' : `: ${this.stderrTail.trim()}`}`),
      (error: Error) => this.fail(error.message),
    )
  }

  async initialize(root: string): Promise<void> {
    const rootUri = pathToFileURL(root).href
    const params = {
      processId: null,
      rootUri,
      workspaceFolders: [{ uri: rootUri, name: 'workspace' }],
      capabilities: {
        textDocument: {
          definition: { linkSupport: false },
          documentSymbol: { hierarchicalDocumentSymbolSupport: true },
          hover: { contentFormat: ['plaintext', 'markdown'] },
          diagnostic: {},
          synchronization: {},
        },
        workspace: { didChangeWatchedFiles: { dynamicRegistration: true }, workspaceFolders: true },
      },
    }
    await this.request('initialize', params, this.limits.start_ms)
    this.notify('initialized', {})
  }

  async request(method: string, params: unknown, limit = this.limits.request_ms): Promise<unknown> {
    if (this.isStopped) throw operatorError('the language server has stopped', RESTART_HINT)
    const id = this.next++
    const response = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }))
    this.send({ id, method, params })
    const onTime = () => this.fail(`no response to ${method} within ${limit} ms`)
    return withTimer(this.sleep, { ms: limit, onTime }, () => response).finally(() => this.pending.delete(id))
  }

  notify(method: string, params: unknown): void {
    this.send({ method, params })
  }

  /** Sends the current content of a document to the server. */
  syncDocument(uri: string, languageId: string, text: string): void {
    const opened = this.documents.get(uri)
    if (opened?.text === text) return
    const version = (opened?.version ?? 0) + 1
    this.documents.set(uri, { version, text })
    if (opened) this.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    else this.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
  }

  stop(): void {
    this.fail('it was stopped')
  }

  private fail(reason: string): void {
    if (this.isStopped) return
    this.isStopped = true
    this.serverProcess.kill()
    const error = operatorError(`the language server failed: ${reason}`, RESTART_HINT)
    for (const { reject } of this.pending.values()) reject(error)
    this.pending.clear()
  }

  private send(message: LspMessage): void {
    const { stdin } = this.serverProcess.child
    if (!this.isStopped && stdin) writeLspMessage(stdin, message)
  }

  private receive({ id, method, params, result, error }: LspMessage): void {
    if (method !== undefined) {
      if (id !== undefined) this.send({ id, result: defaultResponse(method, params) })
      return
    }
    const request = this.pending.get(Number(id))
    if (error) request?.reject(operatorError(`the language server returned an error: ${error.message}`, RESTART_HINT))
    else request?.resolve(result ?? null)
  }
}

/** Response to a request of the server: no configuration, and every registration is accepted. */
function defaultResponse(method: string, params: unknown): unknown {
  if (method !== 'workspace/configuration') return null
  return ((params as { items?: unknown[] }).items ?? []).map(() => null)
}

/** A JSON-RPC message of the Language Server Protocol: request, notification or response. */
interface LspMessage {
  id?: number | string
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string }
}

/** Prevents memory exhaustion by a broken or hostile server. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Splits the stream into messages. A protocol error is reported once; later data is ignored. */
function readLspMessages(
  stream: Readable,
  onMessage: (message: LspMessage) => void,
  onError: (reason: string) => void,
): void {
  let buffered: Buffer = Buffer.alloc(0)
  let failed = false
  const fail = (reason: string) => {
    failed = true
    buffered = Buffer.alloc(0)
    onError(reason)
  }
  stream.on('data', (chunk: Buffer) => {
    if (failed) return
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    for (;;) {
      const end = buffered.indexOf('\r\n\r\n')
      if (end === -1) {
        if (buffered.length > 8192) fail('its output is not the Language Server Protocol')
        return
      }
      const length = Number(/content-length: *(\d+)/i.exec(buffered.toString('latin1', 0, end))?.[1] ?? Number.NaN)
      if (!(length <= MAX_MESSAGE_BYTES)) return fail('it sent an invalid Content-Length')
      if (buffered.length < end + 4 + length) return
      const body = buffered.toString('utf8', end + 4, end + 4 + length)
      buffered = buffered.subarray(end + 4 + length)
      try {
        onMessage(JSON.parse(body) as LspMessage)
      } catch {
        return fail('it sent invalid JSON')
      }
    }
  })
}

function writeLspMessage(stream: Writable, message: LspMessage): void {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
  stream.write(`Content-Length: ${body.length}\r\n\r\n`)
  stream.write(body)
}
