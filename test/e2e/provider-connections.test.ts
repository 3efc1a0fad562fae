import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from './cli-fixture.ts'
import { startServer } from './mock-provider.ts'

/* Real servers on the loopback interface that no model answers on: what a run books, and how often it tries. */

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/localhost-${name}.pem`, import.meta.url))

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function runAgainst(baseUrl: string) {
  const cli = await createCliFixture()
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: baseUrl }
  const model = 'anthropic/claude-haiku-4-5'
  const argv = ['run', 'task', '--agent', 'default', 'hi', '--model', model, '--json']
  const done = await cli.troupeWith({ env }, ...argv)
  const result = JSON.parse(done.out)
  const shown = await cli.troupe('show', result.run_id, '--events', '--json')
  const events = shown.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { code: done.code, result, attempts: events.filter(({ type }) => type === 'model:begin').length }
}

describe('connections that fail', () => {
  test('MO65 a self-signed certificate costs nothing, is not retried, and the hint names the certificate', async () => {
    let requests = 0
    const server = createHttpsServer({ key: pem('key'), cert: pem('certificate') }, () => {
      requests += 1
    })
    const { code, result, attempts } = await runAgainst(`https://localhost:${await listen(server)}/v1`)
    expect({ code, attempts, requests }).toEqual({ code: 1, attempts: 1, requests: 0 })
    expect(result.usage).toMatchObject({ input: 0, output: 0, usd: 0 })
    expect(result.error).toMatchObject({ code: 'model_failed', retry: false })
    expect(result.error.message).toContain('self-signed certificate')
    expect(result.error.hint).toMatch(/NODE_EXTRA_CA_CERTS.*ANTHROPIC_BASE_URL/)
  })

  test('MO65 a server that speaks no TLS, or no HTTP, is not asked again', async () => {
    const plain = await startServer((_, response) => response.end('plain'))
    onTestFinished(() => plain.close())
    const other = await listen(createServer((socket) => void socket.end('220 mail server\r\n')))
    const [noTls, noHttp] = await Promise.all([
      runAgainst(plain.url.replace('http:', 'https:')),
      runAgainst(`http://127.0.0.1:${other}/v1`),
    ])
    for (const { result, attempts } of [noTls, noHttp]) {
      expect(attempts).toBe(1)
      expect(result).toMatchObject({ error: { code: 'model_failed', retry: false }, usage: { usd: 0 } })
    }
    expect(noTls.result.error.hint).toContain('https://')
  })

  test('L51 the default limit in dollars says once that it does not count a model of unknown price; a set one refuses it', async () => {
    const cli = await createCliFixture()
    const server = await startServer((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"no"}}')
    })
    onTestFinished(() => server.close())
    const env = { TROUPE_COMPATIBLE_BASE_URL: server.url, COLUMNS: '200' }
    const argv = ['run', 'task', '--agent', 'default', 'hi', '--model', 'compatible/our-model']
    const byDefault = await cli.troupeWith({ env }, ...argv)
    expect(byDefault.err.match(/the price of compatible\/our-model is unknown/g)).toHaveLength(1)
    const refused = await cli.troupeWith({ env }, ...argv, '--limit', 'usd=1')
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/limit `usd` of 1 cannot be kept.*unknown/)
    expect(refused.err).toMatch(/troupe resume r_\w+ --limit usd=null/)
  })

  test('MO65 a closed port is tried again, and nothing is booked for any attempt', async () => {
    const server = createServer()
    const port = await listen(server)
    server.close()
    await once(server, 'close')
    const { result, attempts } = await runAgainst(`http://127.0.0.1:${port}/v1`)
    expect(attempts).toBe(4)
    expect(result).toMatchObject({ error: { code: 'model_failed', retry: true }, usage: { input: 0, usd: 0 } })
    expect(result.error.hint).toContain('no server listens')
  })
})
