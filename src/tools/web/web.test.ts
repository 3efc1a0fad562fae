import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { htmlToText } from './html-to-text.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import { isPublicAddress, PUBLIC_ADDRESSES, resolveAllowedAddress } from './ssrf-guard.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** A little internet in which names lead to this machine, and only the given ports count as public. */
function book(ports: readonly number[], names: Record<string, string[]> = {}): AddressPolicy {
  return {
    resolve: async (host) => (names[host] ?? ['127.0.0.1']).map((address) => ({ address, family: 4 as const })),
    isAllowed: (address, port) => address === '127.0.0.1' && ports.includes(port),
  }
}

function web(hosts: readonly string[], addresses: AddressPolicy) {
  return createToolWorkspace({ sandbox: 'none', network: { hosts, addresses } })
}

describe('addresses', () => {
  test('TO34 private, loopback, link-local, shared, reserved and translated addresses are not public', () => {
    const inside = [
      ...['127.0.0.1', '127.9.9.9', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254'],
      ...['0.0.0.0', '100.64.0.1', '100.100.100.200', '192.0.0.192', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
      ...[
        '::1',
        '::',
        '::ffff:127.0.0.1',
        '::ffff:10.0.0.1',
        '::7f00:1',
        'fe80::1',
        'fe80::1%eth0',
        'fc00::1',
        'fd00:ec2::254',
      ],
      ...[
        '64:ff9b::7f00:1',
        '64:ff9b:1::1',
        '2002:7f00:1::',
        '2001::1',
        '2001:db8::1',
        'ff02::1',
        '100::1',
        'not-an-address',
      ],
    ]
    expect(inside.filter(isPublicAddress)).toEqual([])
    expect(
      ['1.1.1.1', '8.8.8.8', '172.15.0.1', '2606:4700::1111', '2a00:1450::1'].filter((ip) => !isPublicAddress(ip)),
    ).toEqual([])
  })

  test('TO35 one bad address spoils a name, and the address that was judged is the one that is used', async () => {
    const two = book([80], { mixed: ['127.0.0.1', '10.0.0.1'] })
    await expect(resolveAllowedAddress(two, 'mixed', 80)).rejects.toThrow('not on the public internet')
    await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, 'localhost', 80)).rejects.toThrow('not on the public internet')
    await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, '[::1]', 80)).rejects.toThrow('not on the public internet')
    for (const host of ['2130706433', '0x7f000001', '0177.0.0.1', '127.1']) {
      const { hostname } = new URL(`http://${host}/`)
      await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, hostname, 80), host).rejects.toThrow(
        'not on the public internet',
      )
    }
    let asked = 0
    const port = await serve((_request, response) => response.end('here'))
    const turning: AddressPolicy = {
      ...book([port]),
      resolve: async () => [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    }
    using bench = web(['*'], turning)
    const answer = await bench.call('WebFetch', { url: `http://turning.test:${port}/` })
    expect(answer.output).toMatchObject({ status: 200, text: 'here' })
    expect(asked).toBe(1)
  })
})

describe('WebFetch', () => {
  test('TO36 the network is off until hosts are allowed, and then only those are reached', async () => {
    using off = createToolWorkspace({ sandbox: 'none' })
    expect((await off.call('WebFetch', { url: 'https://example.org' })).text).toContain('not allowed here')
    expect((await off.call('WebSearch', { query: 'anything' })).text).toContain('not allowed here')
    const port = await serve((_request, response) => response.end('ok'))
    using bench = web(['good.test', '*.below.test'], book([port]))
    const fetched = (host: string) => bench.call('WebFetch', { url: `http://${host}:${port}/` })
    expect((await fetched('good.test')).success).toBe(true)
    expect((await fetched('a.b.below.test')).success).toBe(true)
    for (const host of ['bad.test', 'below.test', 'xgood.test', 'good.test.evil.test']) {
      expect((await fetched(host)).text, host).toContain('is not allowed')
    }
  })

  test('TO37 every redirect is judged anew, and there are not many of them', async () => {
    const hidden = await serve((_request, response) => response.end('secret'))
    const port = await serve((request, response) => {
      const to: Record<string, string> = {
        '/private': `http://inside.test:${hidden}/`,
        '/literal': 'http://169.254.169.254/latest/meta-data',
        '/file': 'file:///etc/passwd',
        '/host': `http://elsewhere.test:${port}/`,
        '/loop': '/loop',
        '/ok': '/end',
      }
      const location = to[request.url ?? '']
      if (location) response.writeHead(302, { location }).end()
      else response.end('the end')
    })
    using bench = web(['a.test', 'inside.test', '169.254.169.254'], book([port]))
    const fetched = async (path: string) => (await bench.call('WebFetch', { url: `http://a.test:${port}${path}` })).text
    expect(await fetched('/private')).toContain('not on the public internet')
    expect(await fetched('/literal')).toContain('not on the public internet')
    expect(await fetched('/file')).toContain("'file:' cannot be fetched")
    expect(await fetched('/host')).toContain('is not allowed')
    expect(await fetched('/loop')).toContain('leads on more than 5 times')
    expect(await fetched('/ok')).toContain('the end')
  })

  test('TO77 another host is told of instead of asked, so that it is a call of its own', async () => {
    const asked: string[] = []
    const port = await serve((request, response) => {
      asked.push(request.headers.host ?? '')
      const location = { '/away': `http://b.test:${port}/x`, '/dot': '/end' }[request.url ?? '']
      if (location) response.writeHead(302, { location }).end()
      else response.end('the end')
    })
    using bench = web(['*'], book([port]))
    const fetched = async (path: string) => (await bench.call('WebFetch', { url: `http://a.test:${port}${path}` })).text
    expect(await fetched('/away')).toContain(`"leads_to":"http://b.test:${port}/x"`)
    expect(asked).toEqual([`a.test:${port}`])
    expect(await fetched('/dot')).toContain('the end')
  })

  test('TO38 size is bounded, also of what unpacks to more; time ends with the call', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 'a'))
    const port = await serve((request, response) => {
      if (request.url === '/hang') return
      if (request.url === '/bomb') {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb)
      } else response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(120_000))
    })
    using bench = web(['*'], book([port]))
    const at = (path: string) => ({ url: `http://a.test:${port}${path}` })
    expect((await bench.call('WebFetch', at('/bomb'))).output).toMatchObject({ cut: expect.any(String) })
    const first = (await bench.call('WebFetch', at('/'))).output as { text: string; more: string }
    expect(first).toMatchObject({ more: 'go on with offset 50000 of 120000' })
    const last = (await bench.call('WebFetch', { ...at('/'), offset: 100_000 })).output as {
      text: string
      more?: string
    }
    expect([last.text.length, last.more]).toEqual([20_000, undefined])
    const stop = new AbortController()
    const hanging = bench.call('WebFetch', at('/hang'), { signal: stop.signal })
    stop.abort(new Error('time is up'))
    expect((await hanging).text).toContain('time is up')
  })

  test('TO39 pages become text; binary answers, failures and addresses with passwords are told apart', async () => {
    const html = `<html><head><title>A &amp; B</title><style>x{}</style></head><body><h1>Hi</h1><script>evil()</script>
      <p>One <a href="/next">two</a>&nbsp;three</p><ul><li>x</li><li>y</li></ul><!-- no --><img alt="pic"></body></html>`
    expect(htmlToText(html, 'https://a.test/dir/')).toEqual({
      title: 'A & B',
      text: '# Hi\n\nOne [two](https://a.test/next) three\n\n- x\n\n- y\n\n[image: pic]',
    })
    const port = await serve((request, response) => {
      if (request.url === '/missing') response.writeHead(404).end('gone')
      else response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([1, 2, 3]))
    })
    using bench = web(['*'], book([port]))
    expect((await bench.call('WebFetch', { url: `http://a.test:${port}/i` })).text).toContain('image/png, 3 bytes')
    expect(await bench.call('WebFetch', { url: `http://a.test:${port}/missing` })).toMatchObject({ success: false })
    expect((await bench.call('WebFetch', { url: `http://u:p@a.test:${port}/` })).text).toContain('may not carry')
    expect((await bench.call('WebFetch', { url: 'nonsense' })).text).toContain('is not an address')
  })

  test('TO40 a page of many unclosed tags is read in time', () => {
    const from = performance.now()
    htmlToText('<a href="'.repeat(100_000), 'https://a.test/')
    htmlToText(`${'<'.repeat(200_000)}>`, 'https://a.test/')
    htmlToText('<!--'.repeat(100_000), 'https://a.test/')
    htmlToText('<script>'.repeat(100_000), 'https://a.test/')
    expect(performance.now() - from).toBeLessThan(3000)
  })
})

test('TO41 WebSearch asks the given service, bounds what comes back, and keeps to the domains', async () => {
  const search = {
    name: 'test',
    search: async () => [
      { title: 'a', url: 'https://docs.good.test/a', snippet: 'x'.repeat(5000) },
      { title: 'b', url: 'https://bad.test/b', snippet: '' },
      { title: 'c', url: 'nonsense', snippet: '' },
    ],
  }
  using bench = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search } })
  const all = (await bench.call('WebSearch', { query: 'words' })).output as { results: { snippet: string }[] }
  expect(all.results).toHaveLength(2)
  expect(all.results[0]?.snippet.length).toBe(1001)
  const some = await bench.call('WebSearch', { query: 'words', allowed_domains: ['good.test'] })
  expect(some.output).toMatchObject({ results: [{ title: 'a' }] })
  using none = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'] } })
  expect((await none.call('WebSearch', { query: 'words' })).text).toContain('no search service')
})
