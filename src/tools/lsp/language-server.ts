import { pathToFileURL } from 'node:url'
import type { SandboxedProcess } from '../sandbox/sandbox.ts'
import { operatorError } from '../tool-errors.ts'
import type { LspMessage } from './lsp-messages.ts'
import { readLspMessages, writeLspMessage } from './lsp-messages.ts'

/*
 * One language server at work.
 * 1. Every request ends: with an answer, an error, the server's end, or a time limit. A server that let one limit pass is
 *    stopped, for it may never answer again.
 * 2. It is told of every document before it is asked about it, and of every change since.
 */

export interface LanguageServerLimits {
  start_ms: number
  request_ms: number
}

export const DEFAULT_LANGUAGE_SERVER_LIMITS: LanguageServerLimits = { start_ms: 30_000, request_ms: 30_000 }

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

interface PendingRequest {
  resolve(result: unknown): void
  reject(error: Error): void
}

export class LanguageServer {
  /** True once it can no longer be used. */
  isStopped = false
  private readonly pending = new Map<number, PendingRequest>()
  private readonly documents = new Map<string, { version: number; text: string }>()
  private readonly serverProcess: SandboxedProcess
  private readonly limits: LanguageServerLimits
  private readonly sleep: Sleep
  private next = 1
  private stderrTail = ''

  constructor(work: SandboxedProcess, limits: LanguageServerLimits, sleep: Sleep) {
    this.serverProcess = work
    this.limits = limits
    this.sleep = sleep
    const { stdout, stderr, stdin } = work.child
    if (stdout) {
      readLspMessages(
        stdout,
        (message) => this.receive(message),
        (why) => this.fail(why),
      )
    }
    stderr?.on('data', (chunk: Buffer) => {
      this.stderrTail = (this.stderrTail + chunk.toString('utf8')).slice(-500)
    })
    stdin?.on('error', () => {})
    work.ended.then(
      () => this.fail(`it ended${this.stderrTail === '' ? '' : `: ${this.stderrTail.trim()}`}`),
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
    if (this.isStopped) throw operatorError('the language server has ended')
    const id = this.next++
    const done = new AbortController()
    const answer = new Promise<unknown>((resolve, reject) => this.pending.set(id, { resolve, reject }))
    this.send({ id, method, params })
    const timer = this.sleep(limit, done.signal).then(
      () => this.fail(`it did not answer ${method} within ${limit} ms`),
      () => {},
    )
    try {
      return await answer
    } finally {
      this.pending.delete(id)
      done.abort()
      await timer
    }
  }

  notify(method: string, params: unknown): void {
    this.send({ method, params })
  }

  /** Makes the server see this text as the document's content. */
  syncDocument(uri: string, languageId: string, text: string): void {
    const known = this.documents.get(uri)
    if (known?.text === text) return
    const version = (known?.version ?? 0) + 1
    this.documents.set(uri, { version, text })
    if (known) this.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    else this.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
  }

  stop(): void {
    this.fail('it was stopped')
  }

  private fail(why: string): void {
    if (this.isStopped) return
    this.isStopped = true
    this.serverProcess.kill()
    const error = operatorError(`the language server failed: ${why}`, 'it is started anew with the next call')
    for (const { reject } of this.pending.values()) reject(error)
    this.pending.clear()
  }

  private send(message: LspMessage): void {
    const { stdin } = this.serverProcess.child
    if (!this.isStopped && stdin) writeLspMessage(stdin, message)
  }

  private receive({ id, method, params, result, error }: LspMessage): void {
    if (method !== undefined) {
      if (id !== undefined) this.send({ id, result: defaultReply(method, params) })
      return
    }
    const waiting = this.pending.get(Number(id))
    if (error) waiting?.reject(operatorError(`the language server refused: ${error.message}`))
    else waiting?.resolve(result ?? null)
  }
}

/** What a server asks of its editor: we have no settings, and agree to whatever it wants to register. */
function defaultReply(method: string, params: unknown): unknown {
  if (method !== 'workspace/configuration') return null
  return ((params as { items?: unknown[] }).items ?? []).map(() => null)
}
