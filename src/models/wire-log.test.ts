import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { userMessage } from '../kernel/model.ts'
import { createTroupe } from '../runtime/troupe.ts'
import { loadProviderModel } from './providers.ts'
import { checkWireFolder } from './wire-log.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'troupe-wire-'))
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(root, { recursive: true })
})

const ANSWER = 'data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

async function ask(folder: string, respond: () => Response | Promise<Response>, text = 'Hello.', more = {}) {
  const name = 'compatible/m'
  const env = {
    TROUPE_COMPATIBLE_API_KEY: 'key-of-the-test',
    TROUPE_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9',
    TROUPE_WIRE: folder,
    ...more,
  }
  const model = await loadProviderModel(name, { env, fetch: async () => respond() })
  const session = { run_id: 'r_1', session_id: 's', agent: 'a', turn: 1, marks: [] }
  const key = 'session/turn/1/model'
  const request = { key, model: name, system: '', messages: [userMessage(text)], tools: [], settings: {}, session }
  for await (const _ of model.stream(request, new AbortController().signal));
}

const stream = (body: string | ReadableStream, status = 200) =>
  new Response(body, { status, headers: { 'content-type': 'text/event-stream' } })

describe('TROUPE_WIRE', () => {
  test('MO96 both bodies of each attempt are files for the user alone, and a warning announces them', async () => {
    const folder = join(root, 'wire')
    await expect(ask(folder, () => new Response('{"error":{"message":"busy"}}', { status: 503 }))).rejects.toThrow(
      '503',
    )
    await ask(folder, () => stream(ANSWER))
    const name = (attempt: number, kind: string) => `r_1.session-turn-1-model.${attempt}.${kind}`
    expect(readdirSync(folder).sort()).toEqual([
      ...[name(1, 'request.json'), name(1, 'response.txt'), name(2, 'request.json'), name(2, 'response.txt')],
    ])
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const read = (attempt: number, kind: string) => readFileSync(join(folder, name(attempt, kind)), 'utf8')
    expect(JSON.parse(read(2, 'request.json'))).toMatchObject({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello.' }],
    })
    expect([read(1, 'response.txt'), read(2, 'response.txt')]).toEqual(['{"error":{"message":"busy"}}', ANSWER])
    expect(vi.mocked(process.emitWarning).mock.calls.flat().join()).toContain(`written to ${folder} (TROUPE_WIRE)`)
  })

  test('MO96 no key and no secret is written', async () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const echo = ANSWER.replace('Hi.', `key-of-the-test ${secret}`)
    await ask(join(root, 'wire'), () => stream(echo), `My token: ${secret}`)
    const files = readdirSync(join(root, 'wire')).map((file) => readFileSync(join(root, 'wire', file), 'utf8'))
    expect(files).toHaveLength(2)
    for (const text of files) expect(text).toContain('[redacted')
    expect(files.join()).not.toMatch(new RegExp(`${secret}|key-of-the-test`))
  })

  test('MO96 no secret of the environment is written', async () => {
    const DATABASE_PASSWORD = 'correct horse battery'
    const echo = ANSWER.replace('Hi.', DATABASE_PASSWORD)
    await ask(join(root, 'wire'), () => stream(echo), DATABASE_PASSWORD, { DATABASE_PASSWORD })
    const files = readdirSync(join(root, 'wire')).map((file) => readFileSync(join(root, 'wire', file), 'utf8'))
    expect(files).toHaveLength(2)
    for (const text of files) expect(text).toContain('[redacted')
    expect(files.join()).not.toContain(DATABASE_PASSWORD)
  })

  test('MO96 a request without a file for its response leaves no file', async () => {
    const folder = checkWireFolder(join(root, 'wire'))
    const name = (attempt: number, kind: string) => `r_1.session-turn-1-model.${attempt}.${kind}`
    symlinkSync(join(root, 'target'), join(folder, name(1, 'response.txt')))
    await ask(folder, () => stream(ANSWER))
    const written = [name(1, 'response.txt'), name(2, 'request.json'), name(2, 'response.txt')]
    expect(readdirSync(folder).sort()).toEqual(written)
  })

  test('MO96 what arrived before a connection is lost is written, and files in the way stay as they are', async () => {
    const folder = checkWireFolder(join(root, 'wire'))
    const target = join(root, 'target')
    symlinkSync(target, join(folder, 'r_1.session-turn-1-model.1.request.json'))
    const [line = ''] = ANSWER.split('data: [DONE]')
    const broken = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(line.replace('"stop"', 'null'))),
      pull: (controller) => controller.error(new TypeError('terminated')),
    })
    await expect(ask(folder, () => stream(broken))).rejects.toThrow()
    expect(existsSync(target)).toBe(false)
    expect(readFileSync(join(folder, 'r_1.session-turn-1-model.2.response.txt'), 'utf8')).toContain('Hi.')
  })

  test('MO97 a link, a file, a folder of another user and one that others may write to are refused', async () => {
    const folder = join(root, 'wire')
    mkdirSync(folder)
    const link = join(root, 'link')
    symlinkSync(folder, link)
    expect(() => checkWireFolder(link)).toThrow(/link is a link/)
    expect(() => checkWireFolder(join(import.meta.dirname, 'wire-log.ts'))).toThrow(/cannot be created/)
    chmodSync(folder, 0o777)
    expect(() => checkWireFolder(folder)).toThrow(/other users/)
    chmodSync(folder, 0o700)
    const isRoot = process.getuid?.() === 0
    if (isRoot) chownSync(folder, 65_534, 65_534)
    const foreign = isRoot ? folder : '/'
    expect(() => checkWireFolder(foreign)).toThrow(/belongs to another user/)
    vi.stubEnv('TROUPE_WIRE', link)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(createTroupe({ store: 'memory' })).rejects.toMatchObject({
      code: 'invalid_input',
      responsible: 'operator',
    })
  })
})
