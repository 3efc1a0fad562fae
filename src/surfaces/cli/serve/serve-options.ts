import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import type { Scope } from '../../http/contract.ts'
import type { ListenOptions } from '../../http/http-server.ts'

/** The options of `troupe serve`. */
export interface ServeOptions {
  port?: string
  host?: string
  socket?: string
  tlsCert?: string
  tlsKey?: string
  behindProxy?: boolean
  publicHost?: string[]
  tokenScopes?: string
  open?: boolean
  execute?: boolean
}

const DEFAULT_HOST = '127.0.0.1'
export const DEFAULT_PORT = 4747
const SCOPES: readonly Scope[] = ['read', 'run', 'approve']

/** Where to listen. Throws `invalid_input` for an address that strangers reach without encryption. */
export function listenOptionsFrom(options: ServeOptions): ListenOptions {
  const { host = DEFAULT_HOST, socket, publicHost, behindProxy } = options
  const tls = tlsFrom(options)
  if (socket !== undefined && (options.host !== undefined || options.port !== undefined || tls))
    throw invalidOption('--socket cannot be combined with --host, --port or --tls-cert', 'choose a socket or a port')
  const isOpenToOthers = socket === undefined && !['127.0.0.1', '::1', 'localhost'].includes(host)
  if (isOpenToOthers && !tls && !behindProxy)
    throw invalidOption(
      `--host ${host} can be reached by others, and the token would cross the network in clear text`,
      'pass --tls-cert and --tls-key, or --behind-proxy if a proxy in front of it does the encryption',
    )
  if (isOpenToOthers && !publicHost)
    throw invalidOption(
      `--host ${host} needs the names that clients use`,
      'pass --public-host NAME, such as --public-host troupe.example.com:4747; requests for other names are refused',
    )
  for (const name of publicHost ?? [])
    if (!/^[\w.-]+(:\d{1,5})?$|^\[[\da-fA-F:]+\](:\d{1,5})?$/.test(name))
      throw invalidOption(`--public-host '${name}' is not a host name`, 'pass a name such as troupe.example.com')
  return {
    host,
    port: portFrom(options.port),
    ...(socket === undefined ? undefined : { socket: resolve(socket) }),
    ...(tls ? { tls } : undefined),
    ...(behindProxy ? { behindProxy } : undefined),
    ...(publicHost ? { publicHosts: publicHost } : undefined),
  }
}

export function tokenScopesFrom({ tokenScopes }: ServeOptions): Scope[] {
  if (tokenScopes === undefined) return [...SCOPES]
  const names = tokenScopes.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !SCOPES.some((scope) => scope === name))
  if (unknown !== undefined)
    throw invalidOption(`--token-scopes: there is no scope '${unknown}'`, `the scopes are ${SCOPES.join(', ')}`)
  return SCOPES.filter((scope) => names.includes(scope))
}

function portFrom(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65535) return port
  throw invalidOption(`--port '${text}' is not a port`, 'pass a number from 0 to 65535; 0 takes any free port')
}

function tlsFrom({ tlsCert, tlsKey }: ServeOptions): ListenOptions['tls'] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined)
    throw invalidOption('--tls-cert and --tls-key need each other', 'pass both files, in PEM format')
  return { cert: readPem('--tls-cert', tlsCert), key: readPem('--tls-key', tlsKey) }
}

function readPem(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw invalidOption(`${flag} ${path} cannot be read: ${(thrown as NodeJS.ErrnoException).code}`, 'check the path')
  }
}

function invalidOption(message: string, hint: string): TroupeError {
  return new TroupeError('invalid_input', message, { hint, responsible: 'operator' })
}
