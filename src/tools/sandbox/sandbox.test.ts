import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { workbench } from '../../../test/escape/workbench.ts'
import { createTools } from '../tools.ts'
import { wordsOf } from './command-line.ts'
import { describeSandbox } from './describe.ts'
import { sandboxedSpawn } from './open-sandbox.ts'
import { pidsGroupParent } from './process-group.ts'
import { systemCallFilter } from './system-calls.ts'
import { harden } from './wrap.ts'

function withPath<T>(path: string, work: () => T): T {
  const before = process.env.PATH
  process.env.PATH = path
  try {
    return work()
  } finally {
    process.env.PATH = before
  }
}

describe('where there is no sandbox', () => {
  test('SB11 tools are refused with what is missing and how to do without, and only an explicit word does without', () => {
    using bench = workbench()
    const { workspace } = bench
    withPath('/nowhere', () => {
      expect(describeSandbox()).toMatchObject({ kind: 'none', available: false })
      expect(() => createTools({ workspace })).toThrow(/bwrap is missing \(on Debian: apt-get install bubblewrap\)/)
      expect(createTools({ workspace, sandbox: 'none' }).sandbox.kind).toBe('none')
    })
    expect(describeSandbox()).toMatchObject({ kind: 'bubblewrap', available: true })
    expect(describeSandbox().notes.length > 0).toBe(process.geteuid?.() === 0)
  })

  test('SB12 a workspace has to be a folder, and not the root of the machine', () => {
    expect(() => createTools({ workspace: '/' })).toThrow('cannot be a workspace')
    expect(() => createTools({ workspace: '/etc/passwd' })).toThrow('is not a folder')
    expect(() => createTools({ workspace: '/no/such/folder' })).toThrow('cannot be opened')
    using bench = workbench()
    execFileSync('sh', ['-c', `rm -rf .troupe && ln -s ${bench.outside} .troupe`], { cwd: bench.workspace })
    expect(() => createTools({ workspace: bench.workspace })).toThrow('has to be a folder')
  })
})

describe('the way a sandbox is made', () => {
  test('SB13 a command line of unknown shape is not run', () => {
    const how = { programs: { bwrap: '/b/bwrap', rg: '/b/rg', socat: undefined }, scratch_mb: 1 }
    const good = "/b/bwrap --tmpfs /home --bind '/a --proc /proc '\"'\"' b' /x --proc /proc --x -- /bin/bash -c 'a --tmpfs b'"
    const hardened = harden(wordsOf(good), how, true)
    const begin = ['/b/bwrap', '--seccomp', '3', '--size', '1048576', '--tmpfs', '/home', '--bind', "/a --proc /proc ' b"]
    expect(hardened.slice(0, begin.length + 5)).toEqual([...begin, '/x', '--proc', '/proc', '--ro-bind', '/proc/sys'])
    expect(hardened.slice(-4)).toEqual(['--', '/bin/bash', '-c', expect.stringMatching(/\na --tmpfs b$/)])
    expect(harden(wordsOf(good), how, false)).not.toContain('/proc/sys')
    for (const bad of [
      'true',
      '/b/bwrap --proc /proc -- true',
      'sh -c x --proc /proc -- y',
      'bwrap --proc /proc -- y',
      good.replace('--proc /proc --x', '--proc /p --x'),
      good.replace('--x', '--proc /proc'),
      good.replace('--x', '$(id)'),
      good.replace('--x', '--x  '),
      good.replace('--x', "'"),
      `/bin/sh -c x srt-args /proc/1/fd/3 ${good}`,
    ]) {
      expect(() => harden(wordsOf(bad), how, true), bad).toThrow('unknown shape')
    }
  })

  test('SB14 the filter of system calls fits this machine', () => {
    const [closed, open] = [systemCallFilter({ unixSockets: false }), systemCallFilter({ unixSockets: true })]
    expect(closed?.length).toBe((open?.length ?? 0) + 16)
  })

  test('SB15 programs that serve us run confined, talk through pipes, and end with everything they started', async () => {
    using bench = workbench()
    const work = await sandboxedSpawn(bench.box.sandbox, {
      command: ['sh', '-c', 'cat; sleep 60 & wait'],
      write: false,
    })
    const said = new Promise<string>((resolve) => work.child.stdout?.once('data', (chunk) => resolve(String(chunk))))
    work.child.stdin?.end('hello')
    expect(await said).toBe('hello')
    work.kill()
    expect(await work.ended).toMatchObject({ signal: 'SIGKILL' })
    const reading = await sandboxedSpawn(bench.box.sandbox, { command: 'touch made', write: false })
    expect((await reading.ended).code).not.toBe(0)
    expect(existsSync(join(bench.workspace, 'made'))).toBe(false)
  })

  test('SB16 nothing is left behind on the machine', async () => {
    using bench = workbench()
    execFileSync('git', ['init', '-q', bench.workspace])
    const before = readdirSync(bench.workspace)
    await Promise.all([1, 2, 3].map((at) => bench.call('Bash', { command: `true ${at}` })))
    await delay(50)
    expect(readdirSync(bench.workspace)).toEqual(before)
    const parent = pidsGroupParent()
    if (parent) expect(readdirSync(parent).filter((name) => name.startsWith(`troupe-${process.pid}-`))).toEqual([])
  })

  test('SB17 with hosts allowed, commands reach those through a proxy and nothing else', {
    timeout: 30_000,
  }, async () => {
    let asked = 0
    const server = createServer((_request, response) => {
      asked++
      response.end('from the host')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const get = (target: string) => `node -e '
      const { connect } = require("net")
      const proxy = new URL(process.env.HTTP_PROXY)
      const pass = Buffer.from(decodeURIComponent(proxy.username) + ":" + decodeURIComponent(proxy.password)).toString("base64")
      const s = connect(proxy.port, proxy.hostname, () => s.write("GET http://${target}/ HTTP/1.1\\r\\nHost: ${target}\\r\\nProxy-Authorization: Basic " + pass + "\\r\\nConnection: close\\r\\n\\r\\n"))
      s.on("data", (d) => process.stdout.write(d)).on("error", (e) => console.log(e.code))'`
    using allowed = workbench({ network: { hosts: [`127.0.0.1:${port}`] } })
    const direct = `timeout 3 cat < /dev/tcp/127.0.0.1/${port}`
    expect((await allowed.call('Bash', { command: get(`127.0.0.1:${port}`) })).text).toContain('from the host')
    expect((await allowed.call('Bash', { command: get('example.invalid') })).text).not.toContain('200 OK')
    expect((await allowed.call('Bash', { command: get(`localhost:${port}`) })).text).not.toContain('from the host')
    expect((await allowed.call('Bash', { command: direct })).success).toBe(false)
    using closed = workbench()
    expect((await closed.call('Bash', { command: get(`127.0.0.1:${port}`) })).text).not.toContain('from the host')
    expect(asked).toBe(1)
    server.close()
  })
})
