import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'
import { pidsCgroupParent } from './cgroup.ts'
import { parseCommandLine } from './command-line.ts'
import { describeSandbox } from './describe-sandbox.ts'
import { nodeInstallation } from './file-policy.ts'
import { spawnSandboxedServer } from './open-sandbox.ts'
import { hardenCommand } from './sandbox-runtime.ts'
import { createSeccompFilter } from './seccomp.ts'

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
    using bench = createToolWorkspace()
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
    using bench = createToolWorkspace()
    execFileSync('sh', ['-c', `rm -rf .troupe && ln -s ${bench.outside} .troupe`], { cwd: bench.workspace })
    expect(() => createTools({ workspace: bench.workspace })).toThrow('has to be a folder')
  })
})

describe('the way a sandbox is made', () => {
  test('SB13 a command line of unknown shape is not run', () => {
    const how = { programs: { bwrap: '/b/bwrap', rg: '/b/rg', socat: undefined }, scratch_mb: 1 }
    const good =
      "/b/bwrap --tmpfs /home --bind '/a --proc /proc '\"'\"' b' /x --proc /proc --x -- /bin/bash -c 'a --tmpfs b'"
    const hardened = hardenCommand(parseCommandLine(good), how, true)
    const begin = [
      '/b/bwrap',
      '--seccomp',
      '3',
      '--size',
      '1048576',
      '--tmpfs',
      '/home',
      '--bind',
      "/a --proc /proc ' b",
    ]
    expect(hardened.slice(0, begin.length + 5)).toEqual([...begin, '/x', '--proc', '/proc', '--ro-bind', '/proc/sys'])
    expect(hardened.slice(-4)).toEqual(['--', '/bin/bash', '-c', expect.stringMatching(/\na --tmpfs b$/)])
    expect(hardenCommand(parseCommandLine(good), how, false)).not.toContain('/proc/sys')
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
      expect(() => hardenCommand(parseCommandLine(bad), how, true), bad).toThrow('unknown shape')
    }
  })

  test('SB24 nothing that this process was itself started with is open inside', () => {
    using bench = createToolWorkspace()
    const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      const { createTools } = await import(${module('../tools.ts')})
      const { callTool } = await import(${module('../../../test/escape/tool-workspace.ts')})
      const box = createTools({ workspace: ${JSON.stringify(bench.workspace)}, sandbox: process.argv[1] === 'none' ? 'none' : {} })
      const { text } = await callTool(box, 'Bash', { command: 'cat /proc/self/fd/30/secret /proc/[0-9]*/fd/30/secret 2>/dev/null; true' })
      console.log(text)
      process.exit()`
    writeFileSync(join(bench.outside, 'secret'), 'of-the-host')
    const folder = openSync(bench.outside, constants.O_RDONLY | constants.O_DIRECTORY)
    const stdio = [
      'ignore' as const,
      'pipe' as const,
      'inherit' as const,
      ...Array.from({ length: 27 }, () => 'ignore' as const),
      folder,
    ]
    const said = (kind: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script, kind], { stdio: [...stdio] }).toString()
    try {
      expect(said('confined')).toContain('[no output]')
      expect(said('none')).toContain('of-the-host')
    } finally {
      closeSync(folder)
    }
  })

  test('SB25 programs of the host are none that an agent could have made, whatever PATH says', async () => {
    using bench = createToolWorkspace()
    const tools = join(bench.workspace, 'node_modules/.bin')
    for (const name of ['bwrap', 'which', 'rg', 'sh', 'bash', 'socat']) {
      bench.writeFile(
        `node_modules/.bin/${name}`,
        `#!/bin/sh\necho ${name} >> ${bench.outside}/marker\nexec /usr/bin/${name} "$@"\n`,
      )
      chmodSync(join(tools, name), 0o755)
    }
    const before = process.env.PATH
    process.env.PATH = `${tools}:node_modules/.bin:${before}`
    try {
      const box = createTools({ workspace: bench.workspace })
      expect(process.env.PATH.split(':').slice(-2)).toEqual([tools, 'node_modules/.bin'])
      expect(await callTool(box, 'Bash', { command: 'echo fine' })).toMatchObject({ success: true, output: 'fine\n' })
      expect(await callTool(box, 'Grep', { pattern: 'nowhere' })).toMatchObject({ success: true })
      process.env.PATH = tools
      expect(() => createTools({ workspace: bench.workspace })).toThrow('bwrap is missing')
    } finally {
      process.env.PATH = before
    }
    expect(existsSync(join(bench.outside, 'marker'))).toBe(false)
  })

  test('SB26 a command that cannot be started, or is too long, leaves nothing behind', async () => {
    using bench = createToolWorkspace()
    const before = readdirSync(bench.workspace)
    const long = await bench.call('Bash', { command: `: ${'ä'.repeat(90_000)}` })
    expect(long.text).toContain('of 180002 bytes is too long')
    await expect(bench.toolbox.sandbox.spawn({ command: ['true'], env: { A: 'a\0b' } })).rejects.toThrow('NUL')
    await expect(bench.toolbox.sandbox.spawn({ command: ['true'], env: { 'A=B': 'c' } })).rejects.toThrow(
      "'A=B' cannot be",
    )
    const nowhere = await bench.toolbox.sandbox.spawn({ command: ['true'], cwd: 'not/there' })
    await expect(nowhere.ended).rejects.toThrow('ENOENT')
    expect(readdirSync(bench.workspace)).toEqual(before)
    const fits = await bench.call('Bash', { command: `echo ${'x'.repeat(99_000)} | wc -c` })
    expect(fits.text).toBe('99001\n')
  })

  test('SB26 a workspace of very many repositories has commands, and all of them are protected', async () => {
    using bench = createToolWorkspace()
    for (let at = 0; at < 300; at++) bench.writeFile(`projects/repository-${at}/.git/HEAD`, 'ref: refs/heads/main\n')
    const command = 'for at in projects/*; do echo evil > $at/.git/config; done 2>/dev/null; echo fine'
    expect(await bench.call('Bash', { command })).toMatchObject({ success: true, output: 'fine\n' })
    const written = readdirSync(join(bench.workspace, 'projects')).filter((name) =>
      existsSync(join(bench.workspace, 'projects', name, '.git/config')),
    )
    expect(written).toEqual([])
  })

  test("SB27 of a person's folder that holds Node, only Node is seen", () => {
    using bench = createToolWorkspace()
    const prefix = join(bench.outside, '.local')
    for (const path of ['bin/node', 'share/keyrings/login', 'lib/node_modules/npm/cli.js', 'include/node/node.h']) {
      mkdirSync(dirname(join(prefix, path)), { recursive: true })
      writeFileSync(join(prefix, path), '')
    }
    symlinkSync('../lib/node_modules/npm/cli.js', join(prefix, 'bin/npm'))
    const node = join(prefix, 'bin/node')
    const own = ['bin', 'lib/node_modules', 'include/node'].map((path) => join(prefix, path))
    expect(nodeInstallation(node)).toEqual(own)
    writeFileSync(join(prefix, 'bin/my-script'), 'token')
    expect(nodeInstallation(node)).toEqual([node])
  })

  test('SB14 the filter of system calls fits this machine', () => {
    const [closed, open] = [createSeccompFilter({ unixSockets: false }), createSeccompFilter({ unixSockets: true })]
    expect(closed?.length).toBe((open?.length ?? 0) + 16)
  })

  test('SB15 programs that serve us run confined, talk through pipes, and end with everything they started', async () => {
    using bench = createToolWorkspace()
    const work = await spawnSandboxedServer(bench.toolbox.sandbox, {
      command: ['sh', '-c', 'cat; sleep 60 & wait'],
      write: false,
    })
    const said = new Promise<string>((resolve) => work.child.stdout?.once('data', (chunk) => resolve(String(chunk))))
    work.child.stdin?.end('hello')
    expect(await said).toBe('hello')
    work.kill()
    expect(await work.ended).toMatchObject({ signal: 'SIGKILL' })
    const reading = await spawnSandboxedServer(bench.toolbox.sandbox, { command: 'touch made', write: false })
    expect((await reading.ended).code).not.toBe(0)
    expect(existsSync(join(bench.workspace, 'made'))).toBe(false)
  })

  test('SB16 nothing is left behind on the machine', async () => {
    using bench = createToolWorkspace()
    execFileSync('git', ['init', '-q', bench.workspace])
    const before = readdirSync(bench.workspace)
    await Promise.all([1, 2, 3].map((at) => bench.call('Bash', { command: `true ${at}` })))
    await delay(50)
    expect(readdirSync(bench.workspace)).toEqual(before)
    const parent = pidsCgroupParent()
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
    using allowed = createToolWorkspace({ network: { hosts: [`127.0.0.1:${port}`] } })
    const direct = `timeout 3 cat < /dev/tcp/127.0.0.1/${port}`
    expect((await allowed.call('Bash', { command: get(`127.0.0.1:${port}`) })).text).toContain('from the host')
    expect((await allowed.call('Bash', { command: get('example.invalid') })).text).not.toContain('200 OK')
    expect((await allowed.call('Bash', { command: get(`localhost:${port}`) })).text).not.toContain('from the host')
    expect((await allowed.call('Bash', { command: direct })).success).toBe(false)
    using closed = createToolWorkspace()
    expect((await closed.call('Bash', { command: get(`127.0.0.1:${port}`) })).text).not.toContain('from the host')
    expect(asked).toBe(1)
    server.close()
  })
})
