import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listenOptionsFrom, tokenScopesFrom } from './serve-options.ts'

test('HS1 an address that others reach needs TLS or a proxy, and the names that clients use', async () => {
  expect(listenOptionsFrom({})).toEqual({ host: '127.0.0.1', port: 4747 })
  for (const host of ['127.0.0.1', '::1', 'localhost']) expect(listenOptionsFrom({ host }).host).toBe(host)
  const publicHost = ['troupe.example.com']
  for (const host of ['0.0.0.0', '::', '192.168.0.7', '127.0.0.2', 'example.com'])
    expect(() => listenOptionsFrom({ host, publicHost })).toThrow('in clear text')
  expect(() => listenOptionsFrom({ host: '0.0.0.0', behindProxy: true })).toThrow('needs the names')
  const proxied = listenOptionsFrom({ host: '0.0.0.0', behindProxy: true, publicHost })
  expect(proxied).toMatchObject({ host: '0.0.0.0', publicHosts: publicHost })
  const file = join(tmpdir(), `troupe-pem-${process.pid}`)
  await writeFile(file, 'PEM')
  const tls = listenOptionsFrom({ host: '0.0.0.0', tlsCert: file, tlsKey: file, publicHost })
  expect(tls.tls).toEqual({ cert: 'PEM', key: 'PEM' })
  expect(() => listenOptionsFrom({ tlsCert: file })).toThrow('--tls-key')
  expect(() => listenOptionsFrom({ tlsCert: '/nothing', tlsKey: file })).toThrow('ENOENT')
})

test('HS28 options that make no sense are refused with what to do', () => {
  for (const port of ['x', '-1', '70000', '1.5']) expect(() => listenOptionsFrom({ port })).toThrow('is not a port')
  expect(() => listenOptionsFrom({ socket: 's', port: '1' })).toThrow('--socket cannot be combined')
  expect(() => listenOptionsFrom({ publicHost: ['http://x/y'] })).toThrow('is not a host name')
  expect(tokenScopesFrom({ tokenScopes: 'approve, read' })).toEqual(['read', 'approve'])
  expect(() => tokenScopesFrom({ tokenScopes: 'read,admin' })).toThrow("no scope 'admin'")
})
