import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { expectLinearTime } from '../../../test/support/linear-time.ts'
import { htmlToText } from './html-to-text.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import { isPublicAddress, PUBLIC_ADDRESSES, resolveAllowedAddress } from './ssrf-guard.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Resolves all names to this machine; only the given ports count as public. */
function fakeAddresses(ports: readonly number[], names: Record<string, string[]> = {}): AddressPolicy {
  return {
    resolve: async (host) => (names[host] ?? ['127.0.0.1']).map((address) => ({ address, family: 4 as const })),
    isAllowed: (address, port) => address === '127.0.0.1' && ports.includes(port),
  }
}

function createWebFixture(hosts: readonly string[], addresses: AddressPolicy) {
  return createToolWorkspace({ sandbox: 'none', network: { hosts, addresses } })
}

describe('addresses', () => {
  test('TO34 private, loopback, link-local, shared, reserved and IPv4-mapped addresses are not public', () => {
    const nonPublic = [
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
    expect(nonPublic.filter(isPublicAddress)).toEqual([])
    expect(
      ['1.1.1.1', '8.8.8.8', '172.15.0.1', '2606:4700::1111', '2a00:1450::1'].filter((ip) => !isPublicAddress(ip)),
    ).toEqual([])
  })

  test('TO35 a host with one non-public address is denied, and the checked address is used (DNS rebinding)', async () => {
    const mixed = fakeAddresses([80], { mixed: ['127.0.0.1', '10.0.0.1'] })
    await expect(resolveAllowedAddress(mixed, new URL('http://mixed/'))).rejects.toThrow('has a non-public address')
    await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, new URL('http://localhost/'))).rejects.toThrow(
      'has a non-public address',
    )
    await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, new URL('http://[::1]/'))).rejects.toThrow(
      'has a non-public address',
    )
    for (const host of ['2130706433', '0x7f000001', '0177.0.0.1', '127.1']) {
      const { hostname } = new URL(`http://${host}/`)
      await expect(resolveAllowedAddress(PUBLIC_ADDRESSES, new URL(`http://${hostname}/`)), host).rejects.toThrow(
        'has a non-public address',
      )
    }
    let lookups = 0
    const port = await serve((_request, response) => response.end('here'))
    const rebinding: AddressPolicy = {
      ...fakeAddresses([port]),
      resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    }
    using fixture = createWebFixture(['*'], rebinding)
    const result = await fixture.call('WebFetch', { url: `http://rebinding.test:${port}/` })
    expect(result.output).toMatchObject({ status: 200, text: 'here' })
    expect(lookups).toBe(1)
  })
})

describe('WebFetch', () => {
  test('TO36 network access is disabled until hosts are allowed, and only those are reached', async () => {
    using off = createToolWorkspace({ sandbox: 'none' })
    expect((await off.call('WebFetch', { url: 'https://example.org' })).text).toContain('network access is disabled')
    expect((await off.call('WebSearch', { query: 'anything' })).text).toContain('network access is disabled')
    const port = await serve((_request, response) => response.end('ok'))
    using fixture = createWebFixture(['good.test', '*.below.test'], fakeAddresses([port]))
    const fetchHost = (host: string) => fixture.call('WebFetch', { url: `http://${host}:${port}/` })
    expect((await fetchHost('good.test')).success).toBe(true)
    expect((await fetchHost('a.b.below.test')).success).toBe(true)
    for (const host of ['bad.test', 'below.test', 'xgood.test', 'good.test.evil.test']) {
      expect((await fetchHost(host)).text, host).toContain('is not allowed')
    }
  })

  test('TO37 every redirect is checked, and their number is limited', async () => {
    const privatePort = await serve((_request, response) => response.end('secret'))
    const port = await serve((request, response) => {
      const redirects: Record<string, string> = {
        '/private': `http://inside.test:${privatePort}/`,
        '/literal': 'http://169.254.169.254/latest/meta-data',
        '/file': 'file:///etc/passwd',
        '/host': `http://elsewhere.test:${port}/`,
        '/loop': '/loop',
        '/ok': '/end',
      }
      const location = redirects[request.url ?? '']
      if (location) response.writeHead(302, { location }).end()
      else response.end('the end')
    })
    using fixture = createWebFixture(['a.test', 'inside.test', '169.254.169.254'], fakeAddresses([port]))
    const fetchText = async (path: string) =>
      (await fixture.call('WebFetch', { url: `http://a.test:${port}${path}` })).text
    expect(await fetchText('/private')).toContain('has a non-public address')
    expect(await fetchText('/literal')).toContain('has a non-public address')
    expect(await fetchText('/file')).toContain("the scheme 'file:' of `url` is not allowed")
    expect(await fetchText('/host')).toContain('is not allowed')
    expect(await fetchText('/loop')).toContain('redirects more than 5 times')
    expect(await fetchText('/ok')).toContain('the end')
  })

  test('TO77 a redirect to another host is returned in leads_to, not followed', async () => {
    const requestedHosts: string[] = []
    const port = await serve((request, response) => {
      requestedHosts.push(request.headers.host ?? '')
      const location = { '/away': `http://b.test:${port}/x`, '/dot': '/end' }[request.url ?? '']
      if (location) response.writeHead(302, { location }).end()
      else response.end('the end')
    })
    using fixture = createWebFixture(['*'], fakeAddresses([port]))
    const fetchText = async (path: string) =>
      (await fixture.call('WebFetch', { url: `http://a.test:${port}${path}` })).text
    expect(await fetchText('/away')).toContain(`"leads_to":"http://b.test:${port}/x"`)
    expect(requestedHosts).toEqual([`a.test:${port}`])
    expect(await fetchText('/dot')).toContain('the end')
  })

  test('TO38 the size is limited after decompression, and an abort ends the request', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 'a'))
    const port = await serve((request, response) => {
      if (request.url === '/hang') return
      if (request.url === '/bomb') {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb)
      } else response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(120_000))
    })
    using fixture = createWebFixture(['*'], fakeAddresses([port]))
    const request = (path: string) => ({ url: `http://a.test:${port}${path}` })
    expect((await fixture.call('WebFetch', request('/bomb'))).output).toMatchObject({ cut: expect.any(String) })
    const first = (await fixture.call('WebFetch', request('/'))).output as { text: string; more: string }
    expect(first).toMatchObject({ more: 'continue with offset 50000 of 120000' })
    const last = (await fixture.call('WebFetch', { ...request('/'), offset: 100_000 })).output as {
      text: string
      more?: string
    }
    expect([last.text.length, last.more]).toEqual([20_000, undefined])
    const abort = new AbortController()
    const hanging = fixture.call('WebFetch', request('/hang'), { signal: abort.signal })
    abort.abort(new Error('aborted by the test'))
    expect((await hanging).text).toContain('aborted by the test')
  })

  test('TO39 HTML becomes text; binary responses, error statuses and URLs with credentials are reported', async () => {
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
    using fixture = createWebFixture(['*'], fakeAddresses([port]))
    expect((await fixture.call('WebFetch', { url: `http://a.test:${port}/i` })).text).toContain('image/png, 3 bytes')
    expect(await fixture.call('WebFetch', { url: `http://a.test:${port}/missing` })).toMatchObject({ success: false })
    expect((await fixture.call('WebFetch', { url: `http://u:p@a.test:${port}/` })).text).toContain(
      'contains a user name or a password',
    )
    expect((await fixture.call('WebFetch', { url: 'nonsense' })).text).toContain('is not a valid URL')
  })

  test.each([
    ['<p>caf&eacute; &#233; &#xe9; &bogus; &amp;lt;</p>', 'café é é &bogus; &lt;'],
    [
      "<a href='/a?x=1&amp;y=2'>single</a> <a href=/b>bare</a>",
      '[single](https://a.test/a?x=1&y=2) [bare](https://a.test/b)',
    ],
    ['<a href="/x"><svg><text>icon</text></svg></a>after <a href="javascript:run()">script</a>', 'after script'],
    ['<a href="/first" href="/second">one</a>', '[one](https://a.test/first)'],
    ['<head><style>p > a { }</style><body>shown<br>next', 'shown\nnext'],
    ['a < b and 1 <2<!-- <p>hidden</p> -->', 'a < b and 1 <2'],
    ['<table><tr><td>1</td><td>2</td></tr></table>', '1 | 2 |'],
    ['<textarea><p>literal</p></textarea><template>no</template>', '<p>literal</p>'],
  ])('TO39 %j becomes %j', (html, text) => {
    expect(htmlToText(html, 'https://a.test/').text).toBe(text)
  })

  test('TO39 a page with many unclosed tags is converted in linear time', async () => {
    const hostile: ((length: number) => string)[] = [
      (length) => '[]('.repeat(length),
      (length) => '<b>'.repeat(length) + '</i>'.repeat(length),
      (length) => 'x'.repeat(10 * length) + '<a href=x></a>'.repeat(length / 2),
      (length) => '<a href="'.repeat(length),
      (length) => `${'<'.repeat(2 * length)}>`,
      (length) => '<!--'.repeat(length),
      (length) => '<script>'.repeat(length),
    ]
    for (const html of hostile)
      await expectLinearTime((length) => htmlToText(html(length), 'https://a.test/'), 100_000, html.toString())
  })
})

test('TO41 WebSearch queries the provider, truncates results and filters domains', async () => {
  const search = {
    name: 'test',
    search: async () => [
      { title: 'a', url: 'https://docs.good.test/a', snippet: 'x'.repeat(5000) },
      { title: 'b', url: 'https://bad.test/b', snippet: '' },
      { title: 'c', url: 'nonsense', snippet: '' },
    ],
  }
  using fixture = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'], search } })
  const all = (await fixture.call('WebSearch', { query: 'words' })).output as { results: { snippet: string }[] }
  expect(all.results).toHaveLength(2)
  expect(all.results[0]?.snippet.length).toBe(1001)
  const some = await fixture.call('WebSearch', { query: 'words', allowed_domains: ['good.test'] })
  expect(some.output).toMatchObject({ results: [{ title: 'a' }] })
  using none = createToolWorkspace({ sandbox: 'none', network: { hosts: ['*'] } })
  expect((await none.call('WebSearch', { query: 'words' })).text).toContain('no search provider')
})
