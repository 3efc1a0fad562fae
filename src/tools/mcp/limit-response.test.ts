import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { redact } from '../../judgement/redaction/redaction.ts'
import { limitMessages } from './limit-response.ts'
import { limitResult } from './long-result.ts'

const MB = 'x'.repeat(1024 * 1024)

/** A server whose tool `endless` answers forever, and whose tool `long` has a long stream of events. */
async function startServer(type: 'application/json' | 'text/event-stream') {
  let sent = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { id, method, params } = JSON.parse(body || '{}')
    if (id === undefined) return void response.writeHead(202).end()
    response.writeHead(200, { 'content-type': method === 'tools/call' ? type : 'application/json' })
    const reply = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result })
    if (method === 'initialize') {
      const { protocolVersion } = params
      const serverInfo = { name: 's', version: '1' }
      return void response.end(reply({ protocolVersion, capabilities: { tools: {} }, serverInfo }))
    }
    const inputSchema = { type: 'object' }
    if (method === 'tools/list')
      return void response.end(reply({ tools: ['endless', 'long'].map((name) => ({ name, inputSchema })) }))
    if (params.name === 'long') {
      for (let index = 0; index < 15; index++) response.write(`: ${MB}\n\n`)
      return void response.end(`data: ${reply({ content: [{ type: 'text', text: 'done' }] })}\n\n`)
    }
    response.write('data: {"jsonrpc":"2.0","x":"')
    const flood = () => {
      while (!response.destroyed && sent < 1000 && response.write(MB)) sent++
    }
    response.on('drain', flood)
    flood()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { mcp, call } = createMcpHarness({ s: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` } })
  await mcp.prepare(TEST_AGENT)
  return { call, sent: () => sent }
}

test.each(['application/json', 'text/event-stream'] as const)(
  'MC58 an endless response of type %s is not read into memory',
  async (type) => {
    const { call, sent } = await startServer(type)
    await expect(call('mcp__s__endless')).rejects.toThrow(/exceeds|ended before/)
    expect(sent()).toBeLessThan(100)
  },
)

test('MC58 many events may be longer than the limit together', async () => {
  const { call } = await startServer('text/event-stream')
  expect(await call('mcp__s__long')).toMatchObject({ output: 'done' })
})

test('MC58 a response without a body and the address of a response stay as they are', async () => {
  const answer = new Response(null, { status: 204 })
  expect(await limitMessages(async () => answer)('http://a.invalid')).toBe(answer)
})

test('MC56 a secret at the end of the first part is not cut in two', async () => {
  const secret = `"token":"ghp_${'aB3'.repeat(12)}"`
  const output = `${'word '.repeat(19_996)}{"a":1,${secret},"b":2}${' more'.repeat(1000)}`
  const { output: shown } = await limitResult({ success: true, output }, { idempotency_key: 'k' }, undefined)
  expect(redact(String(shown))).not.toContain('aB3')
  expect(String(shown)).toMatch(/\{"a":1,\n\[the first \d+ of/)
})
