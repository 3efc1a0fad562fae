import { pathToFileURL } from 'node:url'
import { unable } from '../complaint.ts'
import type { SandboxedProcess } from '../sandbox/sandbox.ts'
import type { Message } from './messages.ts'
import { readMessages, writeMessage } from './messages.ts'

/*
 * One language server at work.
 * 1. Every request ends: with an answer, an error, the server's end, or a time limit. A server that let one limit pass is
 *    stopped, for it may never answer again.
 * 2. It is told of every document before it is asked about it, and of every change since.
 */

export interface ServerLimits {
  start_ms: number
  request_ms: number
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = { start_ms: 30_000, request_ms: 30_000 }

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

interface Waiting {
  resolve(result: unknown): void
  reject(error: Error): void
}

export class LanguageServer {
  /** True once it can no longer be used. */
  over = false
  private readonly waiting = new Map<number, Waiting>()
  private readonly open = new Map<string, { version: number; text: string }>()
  private readonly work: SandboxedProcess
  private readonly limits: ServerLimits
  private readonly sleep: Sleep
  private next = 1
  private lastWords = ''

  constructor(work: SandboxedProcess, limits: ServerLimits, sleep: Sleep) {
    this.work = work
    this.limits = limits
    this.sleep = sleep
    const { stdout, stderr, stdin } = work.child
    if (stdout) {
      readMessages(
        stdout,
        (message) => this.take(message),
        (why) => this.end(why),
      )
    }
    stderr?.on('data', (chunk: Buffer) => {
      this.lastWords = (this.lastWords + chunk.toString('utf8')).slice(-500)
    })
    stdin?.on('error', () => {})
    work.ended.then(
      () => this.end(`it ended${this.lastWords === '' ? '' : `: ${this.lastWords.trim()}`}`),
      (error: Error) => this.end(error.message),
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
    if (this.over) throw unable('the language server has ended')
    const id = this.next++
    const done = new AbortController()
    const answer = new Promise<unknown>((resolve, reject) => this.waiting.set(id, { resolve, reject }))
    this.send({ id, method, params })
    const timer = this.sleep(limit, done.signal).then(
      () => this.end(`it did not answer ${method} within ${limit} ms`),
      () => {},
    )
    try {
      return await answer
    } finally {
      this.waiting.delete(id)
      done.abort()
      await timer
    }
  }

  notify(method: string, params: unknown): void {
    this.send({ method, params })
  }

  /** Makes the server see this text as the document's content. */
  show(uri: string, languageId: string, text: string): void {
    const known = this.open.get(uri)
    if (known?.text === text) return
    const version = (known?.version ?? 0) + 1
    this.open.set(uri, { version, text })
    if (known) this.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] })
    else this.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } })
  }

  stop(): void {
    this.end('it was stopped')
  }

  private end(why: string): void {
    if (this.over) return
    this.over = true
    this.work.kill()
    const error = unable(`the language server failed: ${why}`, 'it is started anew with the next call')
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }

  private send(message: Message): void {
    const { stdin } = this.work.child
    if (!this.over && stdin) writeMessage(stdin, message)
  }

  private take({ id, method, params, result, error }: Message): void {
    if (method !== undefined) {
      if (id !== undefined) this.send({ id, result: answerTo(method, params) })
      return
    }
    const waiting = this.waiting.get(Number(id))
    if (error) waiting?.reject(unable(`the language server refused: ${error.message}`))
    else waiting?.resolve(result ?? null)
  }
}

/** What a server asks of its editor: we have no settings, and agree to whatever it wants to register. */
function answerTo(method: string, params: unknown): unknown {
  if (method !== 'workspace/configuration') return null
  return ((params as { items?: unknown[] }).items ?? []).map(() => null)
}
