import { createHash } from 'node:crypto'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { TroupeError, toTroupeError } from '../../../errors.ts'
import { userConfigFolder } from '../../../formats/user-home.ts'
import type { Troupe } from '../../../index.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { HttpServer, ListenOptions, ServerParts } from '../../http/http-server.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { onInterrupt } from '../interrupt.ts'
import { limitsFrom } from '../limit-option.ts'
import { noteStoreProblems, openTroupe, requireOwnStore, storePath } from '../open-troupe.ts'
import type { ServeOptions } from '../serve/serve-options.ts'
import { listenOptionsFrom, tokenScopesFrom } from '../serve/serve-options.ts'

/** Serves the page and the HTTP API, and executes the runs of the project, until it is stopped. `onReady` is called once it listens. */
export async function serveCommand(
  cli: Cli<ServeOptions>,
  onReady?: (troupe: Troupe) => Promise<void>,
): Promise<number> {
  const listenOptions = listenOptionsFrom(cli.options)
  const scopes = tokenScopesFrom(cli.options)
  const runLimits = await limitsFrom(cli)
  const executes = cli.options.execute !== false
  const troupe = await openTroupe(cli, 'new')
  try {
    if (executes) requireOwnStore(troupe)
    noteStoreProblems(cli, troupe)
    const { openCredentials } = await import('../../http/auth/credentials.ts')
    const credentials = await openCredentials(credentialsFolder(cli))
    const parts = await serverParts(cli, { troupe, credentials, executes, runLimits })
    const server = await listen(cli, parts, listenOptions)
    const token = await credentials.issue({ kind: 'token', principal: principalName(), scopes })
    const stopped = serveUntilStopped(cli, troupe, server)
    await onReady?.(troupe)
    await announce(cli, server, { token, scopes, executes, isPersistent: credentials.isPersistent })
    return await stopped
  } finally {
    await troupe.close()
  }
}

async function serverParts(
  { terminal }: Cli<ServeOptions>,
  given: Pick<ServerParts, 'troupe' | 'credentials' | 'executes' | 'runLimits'>,
): Promise<ServerParts> {
  const { createPageReader } = await import('../../http/page/page-files.ts')
  const { createRequestLimits } = await import('../../http/checks/request-limits.ts')
  return {
    ...given,
    limits: createRequestLimits(),
    readPageFile: createPageReader(),
    onError: (thrown) => {
      const { code, message } = toTroupeError(thrown)
      terminal.note(`error: ${code}: ${message}`)
    },
  }
}

/** Executes runs until the process is told to stop, then ends streams and leaves the runs resumable. */
async function serveUntilStopped(cli: Cli<ServeOptions>, troupe: Troupe, server: HttpServer): Promise<number> {
  const { terminal, options } = cli
  const stopping = new AbortController()
  const work = options.execute === false ? undefined : troupe.work(workOptions(cli, stopping.signal))
  return new Promise((resolve, reject) => {
    const interrupt = onInterrupt('stopped; runs go on with: troupe serve', {
      terminal,
      note: (text) => terminal.note(text),
      clear: () => {},
      async drain() {
        stopping.abort()
        try {
          await Promise.all([server.close(), work && troupe.drain(), work])
          resolve(EXIT.done)
        } catch (thrown) {
          reject(thrown)
        } finally {
          interrupt.stop()
        }
      },
    })
    work?.catch(reject)
  })
}

function workOptions({ terminal }: Cli, signal: AbortSignal) {
  return {
    signal,
    onError: ({ code, message }: TroupeError, run_id?: string) =>
      terminal.note(`error: ${run_id === undefined ? '' : `run ${run_id}: `}${code}: ${message}`),
    onSkip: (run_id: string) =>
      terminal.note(`run ${run_id} is not executed: this process lacks a part that it needs (troupe resume ${run_id})`),
  }
}

/** Listens on the port, or, if none was asked for and the usual one is taken, on another. */
async function listen(cli: Cli<ServeOptions>, parts: ServerParts, options: ListenOptions): Promise<HttpServer> {
  const { startHttpServer } = await import('../../http/http-server.ts')
  try {
    return await startHttpServer(parts, options)
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE' || options.socket !== undefined) throw cannotListen(options, code ?? message)
    const { findFreePort } = await import('../serve/free-port.ts')
    const taken = `port ${options.port} is in use`
    const free = await findFreePort(options.host)
    if (cli.options.port !== undefined || free === undefined) {
      throw new TroupeError('invalid_input', `--port: ${taken}`, {
        hint: free === undefined ? 'pass another --port' : `--port ${free} is free`,
        responsible: 'operator',
      })
    }
    cli.terminal.note(`${taken}; using ${free}`)
    return startHttpServer(parts, { ...options, port: free })
  }
}

function cannotListen({ host, port, socket }: ListenOptions, reason: string): TroupeError {
  const place = socket === undefined ? `--host ${host} --port ${port}` : `--socket ${socket}`
  const isTaken = reason === 'EADDRINUSE'
  return new TroupeError(
    'invalid_input',
    `${place}: ${isTaken ? 'the file exists already' : `cannot listen: ${reason}`}`,
    {
      hint: isTaken ? 'another server uses it, or one was killed: then delete the file' : 'choose another address',
      responsible: 'operator',
    },
  )
}

/** The tokens of this project of this store. Not in the store, which may have come from someone else with a token of theirs in it. */
function credentialsFolder(cli: Cli<ServeOptions>): string {
  const store = resolve(storePath(cli))
  const key = JSON.stringify([store, cli.options.project ?? cli.config?.options.project ?? 'default'])
  return join(userConfigFolder(), 'serve', createHash('sha256').update(key).digest('hex').slice(0, 32))
}

function principalName(): string {
  try {
    return userInfo().username || 'user'
  } catch {
    return 'user'
  }
}

async function announce(
  cli: Cli<ServeOptions>,
  { address, port }: HttpServer,
  {
    token,
    scopes,
    executes,
    isPersistent,
  }: { token: string; scopes: string[]; executes: boolean; isPersistent: boolean },
): Promise<void> {
  const { terminal, options } = cli
  const page = port === undefined ? undefined : `${address}/#token=${token}`
  if (options.json) printJson(cli, { address, token, scopes, executes, store: storePath(cli), pid: process.pid })
  else if (page !== undefined) terminal.print(page)
  else terminal.print(`socket ${address}\ntoken ${token}`)
  if (!options.quiet && !options.json) {
    const does = executes
      ? 'executes runs that were submitted, answered or interrupted'
      : 'only shows runs (--no-execute)'
    const facts = `project ${options.project ?? cli.config?.options.project ?? 'default'}, store ${storePath(cli)}; ${does}. Ctrl-C stops it.`
    for (const line of wrapText(facts, terminal.err.width, 2)) terminal.note(line)
  }
  if (!isPersistent) terminal.note('note: tokens cannot be stored: pages have to log in again after a restart')
  if (options.open) {
    const { openBrowser } = await import('../serve/open-browser.ts')
    const isOpened = page !== undefined && (await openBrowser(page))
    if (!isOpened) terminal.note('no browser could be opened; open the address above')
  }
}
