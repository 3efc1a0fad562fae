import { chmod, mkdtemp, readdir, readFile, stat } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../../test/support/http-harness.ts'
import { openCredentials } from './auth/credentials.ts'
import { createRequestLimits } from './checks/request-limits.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const write = (token: string) => ({ ...bearer(token), 'x-troupe-request': '1' })

describe('who may call', () => {
  test('HS1 with a certificate the server speaks TLS, also to the page', async () => {
    const read = (name: string) =>
      readFile(fileURLToPath(new URL(`../../../test/fixtures/tls/${name}.pem`, import.meta.url)), 'utf8')
    const [cert, key] = [await read('cert'), await read('key')]
    const { server, token, send } = await startTestServer({ listen: { tls: { cert, key } } })
    expect(server.address).toBe(`https://127.0.0.1:${server.port}`)
    await expect(send('/api/runs')).rejects.toThrow()
    const status = await new Promise((resolve, reject) => {
      const headers = { ...bearer(token), origin: server.address }
      request(
        { host: '127.0.0.1', port: server.port, path: '/api/runs', ca: cert, headers, agent: false },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
        .on('error', reject)
        .end()
    })
    expect(status).toBe(200)
  })

  test('HS2 a Unix socket can be used by its owner only, and is removed when the server stops', async () => {
    const socket = join(await mkdtemp(join(tmpdir(), 'troupe-socket-')), 's')
    const { token, send, stop, server } = await startTestServer({ listen: { socket } })
    expect((await stat(socket)).mode & 0o777).toBe(0o600)
    expect(server.address).toBe(socket)
    const headers = { ...bearer(token), host: 'localhost' }
    expect((await send('/api/runs', { headers })).status).toBe(200)
    expect((await send('/api/runs', { headers: { host: 'localhost' } })).status).toBe(401)
    await stop()
    await expect(stat(socket)).rejects.toThrow('ENOENT')
  })

  test('HS3 a token has 256 bits; only its hash is stored, readable by the owner alone; it survives a restart and expires', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'troupe-credentials-')), 'serve')
    let now = 1000
    const first = await openCredentials(folder, () => now)
    const token = await first.issue({ kind: 'token', principal: 'ada', scopes: ['read'] })
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    const [name = '', ...others] = await readdir(folder)
    expect(others).toEqual([])
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
    expect(name + (await readFile(join(folder, name), 'utf8'))).not.toContain(token)
    const second = await openCredentials(folder, () => now)
    expect(await second.find('token', token)).toMatchObject({ principal: 'ada', scopes: ['read'] })
    expect(await second.find('session', token)).toBeUndefined()
    expect(await second.find('token', `${token.slice(0, -2)}AA`)).toBeUndefined()
    // The name of the file is the hash: whoever reads the folder cannot log in with it.
    expect(await second.find('token', name.replace('.json', ''))).toBeUndefined()
    now += 31 * 24 * 3600_000
    expect(await second.find('token', token)).toBeUndefined()
    await openCredentials(folder, () => now)
    expect(await readdir(folder)).toEqual([])
  })

  test('HS3 credentials in a folder that others may write are not used', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-credentials-'))
    const first = await openCredentials(folder)
    const token = await first.issue({ kind: 'token', principal: 'ada', scopes: ['read'] })
    expect(await (await openCredentials(folder)).find('token', token)).toBeDefined()
    const { chmod } = await import('node:fs/promises')
    await chmod(folder, 0o777)
    const second = await openCredentials(folder)
    expect(second.isPersistent).toBe(false)
    expect(await second.find('token', token)).toBeUndefined()
  })

  test('HS3 where files have neither owners nor modes, tokens survive a restart, too', async () => {
    const { getuid } = process
    Object.assign(process, { getuid: undefined })
    try {
      const folder = await mkdtemp(join(tmpdir(), 'troupe-credentials-'))
      await chmod(folder, 0o777)
      const token = await (await openCredentials(folder)).issue({ kind: 'token', principal: 'ada', scopes: ['read'] })
      const second = await openCredentials(folder)
      expect([second.isPersistent, await second.find('token', token)]).toEqual([
        true,
        expect.objectContaining({ principal: 'ada' }),
      ])
    } finally {
      Object.assign(process, { getuid })
    }
  })

  test('HS3 without a valid bearer token everything under /api is 401; a token in the address or another scheme does not count', async () => {
    const { token, send, call } = await startTestServer()
    expect((await call('/api/runs')).status).toBe(200)
    for (const headers of [
      {},
      { authorization: token },
      { authorization: `Basic ${Buffer.from(`ada:${token}`).toString('base64')}` },
      { authorization: `Bearer ${token}x` },
      { authorization: 'Bearer ' },
      { cookie: `__Host-troupe-1=${token}` },
    ]) {
      const response = await send('/api/runs', { headers })
      expect(response.status).toBe(401)
      expect(response.json).toMatchObject({ error: { code: 'unauthorized' } })
      expect(response.text).not.toContain(token)
    }
    for (const path of [`/api/runs?token=${token}`, `/api/runs?access_token=${token}`, '/api/nothing', '/api'])
      expect((await send(path)).status).toBe(401)
  })

  test('HS4 a page exchanges its token for a cookie that only this host gets, keeps it after a restart, and can end it', async () => {
    const first = await startTestServer()
    const opened = await first.send('/api/session', { method: 'POST', headers: write(first.token), body: {} })
    const [setCookie = ''] = opened.headers['set-cookie'] as string[]
    const attributes = setCookie.split('; ')
    expect(attributes[0]).toMatch(new RegExp(`^__Host-troupe-${first.server.port}=[\\w-]{43}$`))
    for (const attribute of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Strict']) expect(attributes).toContain(attribute)
    expect(attributes.join()).not.toMatch(/domain/i)
    const { csrf } = opened.json as { csrf: string }
    const cookie = attributes[0] ?? ''
    await first.stop()
    const server = await startTestServer({ folder: first.folder, listen: { port: first.server.port ?? 0 } })
    const page = { cookie, 'x-troupe-csrf': csrf }
    // The cookie alone reaches every server of this host, whatever its port.
    for (const path of ['/api/session', '/api/runs'])
      expect((await server.send(path, { headers: { cookie } })).status).toBe(401)
    const session = await server.send('/api/session', { headers: page })
    expect(session.json).toMatchObject({ principal: 'ada', scopes: ['read', 'run', 'approve'], csrf })
    expect((await server.send('/api/runs', { headers: page })).status).toBe(200)
    const ended = await server.send('/api/session', {
      method: 'DELETE',
      headers: page,
      body: {},
    })
    expect(ended.status).toBe(200)
    expect((await server.send('/api/runs', { headers: page })).status).toBe(401)
  })

  test('HS31 a session ends no later than its token, and a page cannot renew it by itself', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-credentials-'))
    let now = 1000
    const credentials = await openCredentials(folder, () => now)
    const token = await credentials.issue({ kind: 'token', principal: 'ada', scopes: ['read'] })
    now += 29 * 24 * 3600_000
    const session = (await credentials.openSession(token)) ?? ''
    expect(await credentials.find('session', session)).toMatchObject({ principal: 'ada', scopes: ['read'] })
    // A session opens no other one.
    expect(await credentials.openSession(session)).toBeUndefined()
    now += 2 * 24 * 3600_000
    expect(await credentials.find('session', session)).toBeUndefined()
    const server = await startTestServer()
    const opened = await server.send('/api/session', { method: 'POST', headers: write(server.token), body: {} })
    const [cookie] = String(opened.headers['set-cookie']).split(';')
    const headers = { cookie, 'x-troupe-csrf': (opened.json as { csrf: string }).csrf }
    expect((await server.send('/api/session', { method: 'POST', headers, body: {} })).status).toBe(403)
    expect((await server.send('/api/runs', { headers })).status).toBe(200)
  })

  test('HS31 a token that opens session after session locks nobody else out', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-credentials-'))
    const credentials = await openCredentials(folder)
    const operator = await credentials.issue({ kind: 'token', principal: 'ada', scopes: ['read', 'run', 'approve'] })
    const page = (await credentials.openSession(operator)) ?? ''
    const other = await credentials.issue({ kind: 'token', principal: 'eve', scopes: ['read'] })
    const sessions: string[] = []
    for (let index = 0; index < 250; index += 1) sessions.push((await credentials.openSession(other)) ?? '')
    for (const opened of [credentials, await openCredentials(folder)]) {
      expect(await opened.find('token', operator)).toBeDefined()
      expect(await opened.find('session', page)).toBeDefined()
      expect(await opened.find('session', sessions.at(-1) ?? '')).toBeDefined()
      expect(await opened.find('session', sessions[0] ?? '')).toBeUndefined()
    }
    expect((await readdir(folder)).length).toBeLessThan(50)
  })

  test('HS10 a token can do only what its scopes allow', async () => {
    const { send, issueToken } = await startTestServer()
    const start = { method: 'POST', body: { input: { agent: 'lead', instruction: 'x' } } }
    const answer = { method: 'POST', body: { answer: 'yes', hash: 'x' } }
    const statuses = async (token: string) => [
      (await send('/api/runs', { headers: bearer(token) })).status,
      (await send('/api/patterns/task/runs', { ...start, headers: write(token) })).status,
      (await send('/api/gates/g_1/answer', { ...answer, headers: write(token) })).status,
    ]
    expect(await statuses(await issueToken(['read']))).toEqual([200, 403, 403])
    expect(await statuses(await issueToken(['run']))).toEqual([403, 200, 403])
    expect(await statuses(await issueToken(['read', 'approve']))).toEqual([200, 403, 404])
    expect(await statuses(await issueToken(['read', 'run', 'approve']))).toEqual([200, 200, 404])
    const refused = await send('/api/runs', { headers: bearer(await issueToken(['run'])) })
    expect(refused.json).toMatchObject({ error: { code: 'scope', message: expect.stringContaining('`read`') } })
  })

  test('HS9 requests and streams of a principal are limited; another principal is not affected', async () => {
    let time = 0
    const limits = createRequestLimits({ rate: 2, burst: 3, concurrency: 2, streams: 1 }, () => time)
    const [one, two] = [limits.beginRequest('ada'), limits.beginRequest('ada')]
    expect(() => limits.beginRequest('ada')).toThrow('at once')
    limits.beginRequest('grace')
    one()
    one()
    two()
    expect(() => limits.beginRequest('ada')).toThrow('per second')
    time += 500
    limits.beginRequest('ada')()
    const ada = { name: 'ada', scopes: [] }
    const close = limits.openStream(ada)
    expect(() => limits.openStream(ada)).toThrow('open streams')
    limits.openStream({ ...ada, name: 'grace' })
    limits.openStream({ ...ada, project: 'other' })
    close()
    limits.openStream(ada)
  })

  test('HS9 a HEAD request for a stream keeps no stream open', async () => {
    const server = await startTestServer({ limits: { streams: 1 } })
    const { run_id } = await server.troupe.run('task', { agent: 'lead', instruction: 'x' })
    const headers = { ...bearer(server.token), accept: 'text/event-stream' }
    const streams = ['/api/changes', `/api/runs/${run_id}/events`, `/api/runs/${run_id}/timeline`]
    for (const path of [...streams, ...streams, `/api/ui-message-stream/runs/${run_id}`]) {
      const response = await server.send(path, { method: 'HEAD', headers })
      expect([path, response.status, response.text]).toEqual([path, 405, ''])
    }
    const json = await server.send('/api/runs', { method: 'HEAD', headers })
    expect([json.status, json.text]).toEqual([200, ''])
  })

  test('HS9 above the rate a caller gets 429, also one without a token', async () => {
    const { send, token, issueToken } = await startTestServer({ limits: { rate: 0.001, burst: 3 } })
    const statuses = async (headers: Record<string, string>) => {
      const found: number[] = []
      for (let index = 0; index < 5; index += 1) found.push((await send('/api/runs', { headers })).status)
      return found
    }
    expect(await statuses(bearer(token))).toEqual([200, 200, 200, 429, 429])
    expect(await statuses(bearer('x'.repeat(43)))).toEqual([401, 401, 401, 429, 429])
    expect(await statuses(bearer(await issueToken(['read'], 'grace')))).toEqual([200, 200, 200, 429, 429])
  })
})
