import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRecord, parseJson } from '../../../schema/json-value.ts'
import type { Scope } from '../contract.ts'
import { SCOPES } from './principal.ts'

/*
 * Tokens of programs and sessions of pages, for one project of one store.
 * 1. A secret has 256 bits, that of a session twice as many in two halves. Only its SHA-256 is stored, in a file of its own (0600, folder 0700): whoever reads the folder cannot log in.
 * 2. Secrets are compared by their hashes in constant time, with all entries (timing attack).
 * 3. They outlive the process, so that a page survives a restart of the server, and expire.
 * 4. A session ends with its token. Each token has a bounded number of sessions, so that one that opens many ends only its own.
 * 5. A folder that other users may write, or that cannot be read, gives access to nobody; secrets then live as long as the process.
 */

export type CredentialKind = 'token' | 'session'

export interface Credential {
  kind: CredentialKind
  /** The name that answers and commands are recorded with. */
  principal: string
  scopes: readonly Scope[]
  expires_at: number
}

export interface Credentials {
  /** Returns the secret of a new token, which is stored nowhere. */
  issue(token: { kind: 'token'; principal: string; scopes: readonly Scope[] }): Promise<string>
  /** Returns the secret of a new session of the token; `undefined` if there is no such token. */
  openSession(token: string): Promise<string | undefined>
  find(kind: CredentialKind, secret: string): Promise<Credential | undefined>
  revoke(secret: string): Promise<void>
  /** False if they live only as long as the process. */
  readonly isPersistent: boolean
}

interface Entry extends Credential {
  hash: Buffer
  created_at: number
  /** The hash of the token of a session. */
  token?: string
}

const SECRET_BYTES = 32
const LIFETIME_MS = 30 * 24 * 3600_000
const MAX_TOKENS = 100
const MAX_SESSIONS = 20
/** Another server of the project may have issued a secret since. Bounds the reads that wrong secrets cause (denial of service). */
const RELOAD_MS = 1000

/** Opens the credentials in this folder; without one they are kept in memory. */
export async function openCredentials(folder: string | undefined, now: () => number = Date.now): Promise<Credentials> {
  const isPersistent = folder !== undefined && (await preparePrivateFolder(folder))
  const entries = new Map<string, Entry>()
  let loadedAt = Number.NEGATIVE_INFINITY
  const load = async () => {
    if (!isPersistent || now() - loadedAt < RELOAD_MS) return
    loadedAt = now()
    const stored = await readEntries(folder, now())
    for (const key of entries.keys()) if (!stored.has(key)) entries.delete(key)
    for (const [key, entry] of stored) entries.set(key, entry)
  }
  await load()
  const add = async (credential: Omit<Entry, 'hash'>) => {
    const secret = credential.kind === 'token' ? newSecret() : newSecret() + newSecret()
    const entry = { ...credential, hash: hashSecret(secret) }
    if (isPersistent) await writeEntry(folder, entry)
    entries.set(keyOf(entry), entry)
    return secret
  }
  const remove = async (key: string) => {
    entries.delete(key)
    if (isPersistent) await rm(join(folder, `${key}.json`), { force: true })
  }
  const findValid = async (kind: CredentialKind, secret: string) => {
    const hash = hashSecret(secret)
    let found = findEntry(entries.values(), hash)
    if (!found) {
      await load()
      found = findEntry(entries.values(), hash)
    }
    return found?.kind !== kind || found.expires_at <= now() ? undefined : found
  }
  return {
    isPersistent,
    issue: (token) => add({ ...token, expires_at: now() + LIFETIME_MS, created_at: now() }),
    async openSession(secret) {
      const found = await findValid('token', secret)
      if (!found) return undefined
      const { hash: _hash, ...token } = found
      const session = await add({ ...token, kind: 'session', token: keyOf(found), created_at: now() })
      for (const old of superseded([...entries.values()])) await remove(keyOf(old))
      return session
    },
    async find(kind, secret) {
      const found = await findValid(kind, secret)
      if (!found) return undefined
      const { principal, scopes, expires_at } = found
      return { kind, principal, scopes, expires_at }
    },
    revoke: (secret) => remove(hashSecret(secret).toString('hex')),
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** The halves of the secret of a session: the browser sends the first one by itself, and the page the second one in a header. */
export function splitSessionSecret(secret: string): { cookie: string; csrf: string } {
  return { cookie: secret.slice(0, secret.length / 2), csrf: secret.slice(secret.length / 2) }
}

function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** Looks at every entry, whichever matches. */
function findEntry(entries: Iterable<Entry>, hash: Buffer): Entry | undefined {
  let found: Entry | undefined
  for (const entry of entries) if (timingSafeEqual(entry.hash, hash)) found = entry
  return found
}

async function preparePrivateFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { mode, uid } = await stat(folder)
    // Windows has no mode bits: the folder is below that of the user.
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
  } catch {
    return false
  }
}

async function readEntries(folder: string, now: number): Promise<Map<string, Entry>> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
  const entries: Entry[] = []
  for (const name of names) {
    const entry = parseEntry(name, await readFile(join(folder, name), 'utf8').catch(() => ''))
    if (entry && entry.expires_at > now) entries.push(entry)
    else if (entry) await rm(join(folder, name), { force: true })
  }
  const old = superseded(entries)
  for (const entry of old) await rm(join(folder, entryName(entry)), { force: true })
  return new Map(entries.filter((entry) => !old.has(entry)).map((entry) => [keyOf(entry), entry]))
}

/** The oldest tokens, and the oldest sessions of each token, above their numbers. */
function superseded(entries: readonly Entry[]): Set<Entry> {
  const newestFirst = entries.toSorted((a, b) => b.created_at - a.created_at)
  const groups = Map.groupBy(newestFirst, ({ token }) => token)
  return new Set([...groups].flatMap(([token, group]) => group.slice(token === undefined ? MAX_TOKENS : MAX_SESSIONS)))
}

function parseEntry(name: string, text: string): Entry | undefined {
  const entry = parseJson(text)
  if (!isRecord(entry)) return undefined
  const { kind, principal, scopes, expires_at, created_at, token } = entry as Omit<Entry, 'hash'>
  const isValid = kind === 'token' ? token === undefined : kind === 'session' && typeof token === 'string'
  const hasTimes = typeof expires_at === 'number' && typeof created_at === 'number'
  if (!isValid || !hasTimes || typeof principal !== 'string' || !Array.isArray(scopes)) return undefined
  const known = SCOPES.filter((scope) => scopes.includes(scope))
  const hash = Buffer.from(name.slice(0, 64), 'hex')
  return { kind, principal, scopes: known, expires_at, created_at, hash, ...(token === undefined ? {} : { token }) }
}

function keyOf({ hash }: Entry): string {
  return hash.toString('hex')
}

function entryName(entry: Entry): string {
  return `${keyOf(entry)}.json`
}

async function writeEntry(folder: string, entry: Entry): Promise<void> {
  const { hash: _hash, ...credential } = entry
  const path = join(folder, entryName(entry))
  const temporary = `${path}.${process.pid}`
  await writeFile(temporary, JSON.stringify(credential), { mode: 0o600 })
  await chmod(temporary, 0o600)
  await rename(temporary, path)
}
