import { closeSync, lstatSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TroupeError } from '../errors.ts'
import { redact, secretEnvValues } from '../judgement/redaction/redaction.ts'
import type { EnvironmentVariables } from '../kernel/world.ts'
import { currentCall } from './transport.ts'

/*
 * Writes the bodies of requests and of their responses into the folder that `TROUPE_WIRE` names.
 * 1. The folder is no link, belongs to the user, and nobody else may write to it; a file is created, never opened again (symlink attack).
 * 2. Headers are not written: they have the keys. Secrets in bodies are redacted line by line; one that a model spreads over several
 *    parts of its stream is not recognised.
 * 3. What arrived is in the file at once: a response that never ends, or a process that is killed, leaves it.
 * 4. A file that cannot be written fails no request.
 */

type Fetch = typeof globalThis.fetch

/** Creates the folder. Throws `invalid_input` for one that is not safe to write to. */
export function checkWireFolder(name: string): string {
  const folder = resolve(name)
  const refuse = (problem: string) =>
    new TroupeError('invalid_input', `TROUPE_WIRE: ${folder} ${problem}`, {
      hint: 'name a folder that is yours alone, or unset TROUPE_WIRE',
      responsible: 'operator',
    })
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (thrown) {
    throw refuse(`cannot be created: ${(thrown as Error).message}`)
  }
  const stat = lstatSync(folder)
  if (stat.isSymbolicLink()) throw refuse('is a link')
  const { getuid } = process
  if (getuid && stat.uid !== getuid.call(process)) throw refuse('belongs to another user')
  if (getuid && (stat.mode & 0o022) !== 0) throw refuse('may be written to by other users')
  return folder
}

const announced = new Set<string>()

interface WireOptions {
  env: EnvironmentVariables
  /** The keys of the model. Secrets of the environment are found by their names. */
  keys: readonly string[]
}

/** Wraps `fetch` so that both bodies of each request are written. */
export function recordWire(fetch: Fetch, name: string, { env, keys }: WireOptions): Fetch {
  const secrets = [...secretEnvValues(env), ...keys]
  const folder = checkWireFolder(name)
  if (!announced.has(folder)) {
    announced.add(folder)
    process.emitWarning(`troupe: requests to models and their responses are written to ${folder} (TROUPE_WIRE)`)
  }
  const clean = (text: string) => redact(text, secrets)
  return async (input, init) => {
    const files = createFiles(folder)
    if (!files) return fetch(input, init)
    write(files.request, typeof init?.body === 'string' ? clean(init.body) : '')
    closeSync(files.request)
    const response = await fetch(input, init).catch((thrown: unknown) => {
      closeSync(files.response)
      throw thrown
    })
    if (!response.body) {
      closeSync(files.response)
      return response
    }
    return new Response(recordBody(response.body, files.response, clean), response)
  }
}

function recordBody(
  body: ReadableStream<Uint8Array>,
  file: number,
  clean: (text: string) => string,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let isClosed = false
  const add = (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (lines.length > 0) write(file, clean(`${lines.join('\n')}\n`))
  }
  const end = () => {
    if (isClosed) return
    isClosed = true
    write(file, clean(rest + decoder.decode()))
    closeSync(file)
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!isClosed && value) add(decoder.decode(value, { stream: true }))
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (thrown) {
        end()
        controller.error(thrown)
      }
    },
    cancel: (reason) => {
      end()
      return reader.cancel(reason)
    },
  })
}

const MAX_ATTEMPTS = 1000

/** Two new files, named by run, step and attempt; `undefined` if they cannot be created. */
function createFiles(folder: string): { request: number; response: number } | undefined {
  const name = (currentCall()?.name ?? 'request').replace(/[^\w.-]+/g, '-').slice(-150)
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const path = join(folder, `${name}.${attempt}`)
    const requestPath = `${path}.request.json`
    let request: number | undefined
    try {
      request = openSync(requestPath, 'wx', 0o600)
      return { request, response: openSync(`${path}.response.txt`, 'wx', 0o600) }
    } catch (thrown) {
      if (request !== undefined) discard(request, requestPath)
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') return undefined
    }
  }
  return undefined
}

function discard(file: number, path: string): void {
  try {
    closeSync(file)
    unlinkSync(path)
  } catch {
    // A folder that is gone must not fail the request.
  }
}

function write(file: number, text: string): void {
  try {
    writeSync(file, text)
  } catch {
    // A full disk must not fail a request that is paid for.
  }
}
