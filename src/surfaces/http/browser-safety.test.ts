import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { TestServer } from '../../../test/support/http-harness.ts'
import { startTestServer } from '../../../test/support/http-harness.ts'

const task = { input: { agent: 'lead', instruction: 'go' } }

async function openPage({ send, token }: TestServer): Promise<{ cookie: string; csrf: string }> {
  const headers = { authorization: `Bearer ${token}`, 'x-troupe-request': '1' }
  const opened = await send('/api/session', { method: 'POST', headers, body: {} })
  const [setCookie = ''] = opened.headers['set-cookie'] as string[]
  return { cookie: setCookie.split(';')[0] ?? '', csrf: (opened.json as { csrf: string }).csrf }
}

const runCount = async ({ troupe }: TestServer) => (await troupe.runs().all()).length

describe('what browsers can be made to do', () => {
  test('HS5 DNS rebinding: a request for another Host is 421, before the token is looked at', async () => {
    const server = await startTestServer({ listen: { publicHosts: ['troupe.example.com'] } })
    const { port } = server.server
    const authorization = `Bearer ${server.token}`
    const foreign = [
      'evil.example',
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      '127.0.0.1',
      '127.0.0.1:1',
    ]
    for (const host of [...foreign, `0.0.0.0:${port}`, `localhost.:${port}`]) {
      for (const path of ['/api/runs', '/', '/app.js', '/api/session']) {
        const response = await server.send(path, { headers: { host, authorization } })
        expect([host, path, response.status]).toEqual([host, path, 421])
      }
      expect((await server.send('/api/runs', { headers: { host } })).status).toBe(421)
    }
    // Not even an address that could be parsed.
    for (const host of [`[::ffff:127.0.0.1]:${port}`, 'a b', 'x@y'])
      expect([400, 421]).toContain((await server.send('/api/runs', { headers: { host, authorization } })).status)
    for (const host of [`127.0.0.1:${port}`, `LOCALHOST:${port}`, 'troupe.example.com'])
      expect((await server.send('/api/runs', { headers: { host, authorization } })).status).toBe(200)
  })

  test('HS6 requests from pages of other sites are refused, with or without credentials; there is no CORS', async () => {
    const server = await startTestServer()
    const { cookie, csrf } = await openPage(server)
    const own = `http://127.0.0.1:${server.server.port}`
    const page = { cookie, 'x-troupe-csrf': csrf }
    const start = (headers: Record<string, string>) =>
      server.send('/api/patterns/task/runs', { method: 'POST', headers: { ...page, ...headers }, body: task })
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', `${own}.evil.example`, 'file://']) {
      expect((await start({ origin })).status).toBe(403)
      const read = await server.send('/api/runs', { headers: { authorization: `Bearer ${server.token}`, origin } })
      expect(read.status).toBe(403)
      expect(Object.keys(read.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    for (const site of ['cross-site', 'same-site']) expect((await start({ 'sec-fetch-site': site })).status).toBe(403)
    expect((await server.send('/', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect(await runCount(server)).toBe(0)
    const preflight = await server.send('/api/runs', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).toBe(403)
    expect((await start({ origin: own, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
    expect(await runCount(server)).toBe(1)
  })

  test('HS6 a link to the page may be followed from anywhere; nothing else of another site is answered', async () => {
    const server = await startTestServer()
    const authorization = `Bearer ${server.token}`
    const status = async (path: string, headers: Record<string, string>, method = 'GET') =>
      (await server.send(path, { method, headers: { 'sec-fetch-site': 'cross-site', ...headers } })).status
    const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    for (const path of ['/', '/runs/r_1', '/inbox']) expect([path, await status(path, link)]).toEqual([path, 200])
    for (const path of ['/api/runs', '/api/session', '/api/openapi.json', '/%61pi/runs'])
      expect([path, await status(path, { ...link, authorization })]).toEqual([path, 403])
    expect(await status('/', link, 'POST')).toBe(403)
    expect(await status('/', { ...link, origin: 'https://evil.example' })).toBe(403)
    for (const dest of ['iframe', 'embed', 'object', 'script', 'empty'])
      expect([dest, await status('/', { ...link, 'sec-fetch-dest': dest })]).toEqual([dest, 403])
    expect(await status('/app.js', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' })).toBe(403)
  })

  test('HS7 CSRF: a write with the cookie needs the token of the page, and one with a bearer token a custom header', async () => {
    const server = await startTestServer()
    const { cookie, csrf } = await openPage(server)
    const other = await openPage(server)
    const start = (headers: Record<string, string>) =>
      server.send('/api/patterns/task/runs', { method: 'POST', headers, body: task })
    for (const sent of [undefined, '', 'x', csrf.slice(1), other.csrf])
      expect((await start({ cookie, ...(sent === undefined ? {} : { 'x-troupe-csrf': sent }) })).status).toBe(401)
    expect((await start({ cookie, 'x-troupe-request': '1' })).status).toBe(401)
    expect((await start({ authorization: `Bearer ${server.token}` })).status).toBe(403)
    expect(await runCount(server)).toBe(0)
    expect((await start({ cookie, 'x-troupe-csrf': csrf })).status).toBe(200)
    expect((await start({ authorization: `Bearer ${server.token}`, 'x-troupe-request': '1' })).status).toBe(200)
    expect(await runCount(server)).toBe(2)
  })

  test('HS7 a write that is not JSON, which a form of another site could send, is 415', async () => {
    const server = await startTestServer()
    const headers = { authorization: `Bearer ${server.token}`, 'x-troupe-request': '1' }
    const body = JSON.stringify(task)
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
      '',
    ]) {
      const sent = type === '' ? headers : { ...headers, 'content-type': type }
      expect((await server.send('/api/patterns/task/runs', { method: 'POST', headers: sent, body })).status).toBe(415)
    }
    const json = { ...headers, 'content-type': 'application/json; charset=utf-8' }
    const gzip = { ...json, 'content-encoding': 'gzip' }
    expect((await server.send('/api/patterns/task/runs', { method: 'POST', headers: gzip, body })).status).toBe(415)
    expect((await server.send('/api/patterns/task/runs', { method: 'POST', headers: json, body })).status).toBe(200)
    expect(await runCount(server)).toBe(1)
  })

  test('HS8 a body is at most 1 MB of JSON in UTF-8 with 64 levels', async () => {
    const server = await startTestServer()
    const headers = {
      authorization: `Bearer ${server.token}`,
      'x-troupe-request': '1',
      'content-type': 'application/json',
    }
    const send = async (body: string | Uint8Array, more = {}) => {
      const sent = { method: 'POST', headers: { ...headers, ...more }, body }
      return (await server.send('/api/patterns/task/runs', sent)).status
    }
    const nested = (levels: number) => `{"input":${'['.repeat(levels)}${']'.repeat(levels)}}`
    const text = (bytes: number) =>
      JSON.stringify({ ...task, input: { ...task.input, instruction: 'x'.repeat(bytes) } })
    expect(await send(text(1024 * 1024))).toBe(413)
    expect(await send(text(1024 * 1024), { 'transfer-encoding': 'chunked', 'content-length': undefined })).toBe(413)
    expect(await send(text(1000_000))).toBe(200)
    expect(await send(nested(64))).toBe(400)
    expect(await send('['.repeat(500_000))).toBe(400)
    // Brackets in a text are no levels.
    expect(await send(JSON.stringify({ input: { ...task.input, instruction: `"${'['.repeat(500)}\\"` } }))).toBe(200)
    for (const body of ['', '{', 'null', '[]', '"x"', '{"input":1}', new Uint8Array([0x7b, 0xff, 0x7d])])
      expect(await send(body)).toBe(400)
    expect(await runCount(server)).toBe(2)
  })

  test('HS14 every response has the security headers: pages, data, files, and errors', async () => {
    const server = await startTestServer()
    const authorization = `Bearer ${server.token}`
    const requests = [
      ['/', {}, 200],
      ['/app.js', {}, 200],
      ['/nothing.js', {}, 404],
      ['/api/runs', { authorization }, 200],
      ['/api/runs', {}, 401],
      ['/api/runs/r_1', { authorization }, 404],
      ['/api/runs', { authorization, host: 'evil.example' }, 421],
      ['/api/runs?limit=0', { authorization }, 400],
    ] as const
    for (const [path, headers, status] of requests) {
      const response = await server.send(path, { headers })
      expect([path, response.status]).toEqual([path, status])
      expect(response.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      })
    }
  })

  test('HS14 requests that are refused before they reach a route have the security headers', async () => {
    const server = await startTestServer()
    const host = `Host: 127.0.0.1:${server.server.port}\r\n`
    const requests = [
      ['GARBAGE\r\n\r\n', 400],
      ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
      [`POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
      [`GET / HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
      [`POST / HTTP/1.1\r\n${host}Expect: something\r\nContent-Length: 2\r\n\r\n{}`, 417],
    ] as const
    for (const [text, status] of requests) {
      const response = await sendText(server, text)
      expect(response.split('\r\n')[0]).toContain(`HTTP/1.1 ${status} `)
      expect(response.toLowerCase()).toContain("content-security-policy: default-src 'none'")
      expect(response.toLowerCase()).toContain('x-content-type-options: nosniff')
      expect(response.toLowerCase()).toContain('connection: close')
      expect(response).toContain('{"error":{"code":')
    }
  })
})

/** Sends these bytes and reads until the server closes the connection. */
function sendText({ server }: TestServer, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(server.port ?? 0, '127.0.0.1', () => socket.write(text))
    socket.setEncoding('utf8').on('data', (part) => {
      received += String(part)
    })
    socket.on('close', () => resolve(received)).on('error', reject)
  })
}
