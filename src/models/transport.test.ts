import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { TransportObserver } from '../kernel/request-progress.ts'
import { observe, observeFetch } from './transport.ts'

function recordTransport() {
  const seen: string[] = []
  const observer: TransportObserver = {
    willReportSend: () => {},
    onSend: () => void seen.push('sent'),
    onReceive: () => void seen.push('received'),
  }
  return { seen, observer }
}

test('B9 the first byte is reported before the server gets it, and the bytes of the response', async () => {
  const { seen, observer } = recordTransport()
  const server = createServer((request, response) => {
    seen.push('request')
    request.resume()
    response.write('one')
    setImmediate(() => response.end('two'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const response = await observe({ observer }, () => observeFetch(fetch)(url, { method: 'POST', body: '{}' }))
  expect(await response.text()).toBe('onetwo')
  expect(seen.slice(0, 3)).toEqual(['sent', 'request', 'received'])
  expect(seen.at(-1)).toBe('received')
})

test('B9 a request whose connection never speaks TLS, or is refused, was not sent', async () => {
  const { seen, observer } = recordTransport()
  const sockets: Socket[] = []
  const silent = createTcpServer((socket) => void sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const controller = new AbortController()
  const send = (url: string) =>
    observe({ observer }, () => observeFetch(fetch)(url, { method: 'POST', body: '{}', signal: controller.signal }))
  const pending = send(`https://127.0.0.1:${port}`)
  await once(silent, 'connection')
  controller.abort()
  await expect(pending).rejects.toThrow()
  for (const socket of sockets) socket.destroy()
  silent.close()
  await once(silent, 'close')
  await expect(observe({ observer }, () => observeFetch(fetch)(`http://127.0.0.1:${port}`))).rejects.toThrow()
  expect(seen).toEqual([])
})

test('B9 a request by another fetch counts as sent at once', async () => {
  const { seen, observer } = recordTransport()
  const { promise, resolve } = Promise.withResolvers<Response>()
  const pending = observe({ observer }, () => observeFetch(() => promise)('http://model.test'))
  await new Promise((continued) => setImmediate(continued))
  expect(seen).toEqual(['sent'])
  resolve(new Response('x'))
  await pending
})
