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

describe('availability', () => {
  test('SB11 without bubblewrap creating the tools fails with what is missing, unless sandbox is none', () => {
    using fixture = createToolWorkspace()
    const { workspace } = fixture
    withPath('/nowhere', () => {
      expect(describeSandbox()).toMatchObject({ kind: 'none', available: false })
      expect(() => createTools({ workspace })).toThrow(/bwrap is missing \(on Debian: apt-get install bubblewrap\)/)
      expect(createTools({ workspace, sandbox: 'none' }).sandbox.kind).toBe('none')
    })
    expect(describeSandbox()).toMatchObject({ kind: 'bubblewrap', available: true })
    expect(describeSandbox().notes.length > 0).toBe(process.geteuid?.() === 0)
  })

  test('SB12 a workspace must be a folder other than /, and .troupe not a symlink', () => {
    expect(() => createTools({ workspace: '/' })).toThrow('cannot be the root of the file system')
    expect(() => createTools({ workspace: '/etc/passwd' })).toThrow('is not a folder')
    expect(() => createTools({ workspace: '/no/such/folder' })).toThrow('cannot be opened')
    using fixture = createToolWorkspace()
    execFileSync('sh', ['-c', `rm -rf .troupe && ln -s ${fixture.outside} .troupe`], { cwd: fixture.workspace })
    expect(() => createTools({ workspace: fixture.workspace })).toThrow(".troupe' is not a folder")
  })
})

describe('isolation', () => {
  test('SB13 an unknown command line of sandbox-runtime is rejected', () => {
    const options = { programs: { bwrap: '/b/bwrap', rg: '/b/rg', socat: undefined }, scratch_mb: 1 }
    const good =
      "/b/bwrap --tmpfs /home --bind '/a --proc /proc '\"'\"' b' /x --proc /proc --x -- /bin/bash -c 'a --tmpfs b'"
    const hardened = hardenCommand(parseCommandLine(good), options, true)
    const expectedStart = [
      '/b/bwrap',
      '--seccomp',
      '3',
      '--unshare-ipc',
      '--size',
      '1048576',
      '--tmpfs',
      '/home',
      '--bind',
      "/a --proc /proc ' b",
    ]
    expect(hardened.slice(0, expectedStart.length + 5)).toEqual([
      ...expectedStart,
      '/x',
      '--proc',
      '/proc',
      '--ro-bind',
      '/proc/sys',
    ])
    expect(hardened.slice(-4)).toEqual(['--', '/bin/bash', '-c', expect.stringMatching(/\na --tmpfs b$/)])
    expect(hardenCommand(parseCommandLine(good), options, false)).not.toContain('/proc/sys')
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
      expect(() => hardenCommand(parseCommandLine(bad), options, true), bad).toThrow('unknown command line')
    }
  })

  test('SB24 inherited file descriptors are closed inside the sandbox', () => {
    using fixture = createToolWorkspace()
    const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
    const script = `
      const { createTools } = await import(${module('../tools.ts')})
      const { callTool } = await import(${module('../../../test/escape/tool-workspace.ts')})
      const toolbox = createTools({ workspace: ${JSON.stringify(fixture.workspace)}, sandbox: process.argv[1] === 'none' ? 'none' : {} })
      const { text } = await callTool(toolbox, 'Bash', { command: 'cat /proc/self/fd/30/secret /proc/[0-9]*/fd/30/secret 2>/dev/null; true' })
      console.log(text)
      process.exit()`
    writeFileSync(join(fixture.outside, 'secret'), 'of-the-host')
    const folder = openSync(fixture.outside, constants.O_RDONLY | constants.O_DIRECTORY)
    const stdio = [
      'ignore' as const,
      'pipe' as const,
      'inherit' as const,
      ...Array.from({ length: 27 }, () => 'ignore' as const),
      folder,
    ]
    const output = (kind: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script, kind], { stdio: [...stdio] }).toString()
    try {
      expect(output('confined')).toContain('[no output]')
      expect(output('none')).toContain('of-the-host')
    } finally {
      closeSync(folder)
    }
  })

  test('SB25 host programs are never taken from folders that agents can write (PATH hijacking)', async () => {
    using fixture = createToolWorkspace()
    const binFolder = join(fixture.workspace, 'node_modules/.bin')
    for (const name of ['bwrap', 'which', 'rg', 'sh', 'bash', 'socat']) {
      fixture.writeFile(
        `node_modules/.bin/${name}`,
        `#!/bin/sh\necho ${name} >> ${fixture.outside}/marker\nexec /usr/bin/${name} "$@"\n`,
      )
      chmodSync(join(binFolder, name), 0o755)
    }
    const before = process.env.PATH
    process.env.PATH = `${binFolder}:node_modules/.bin:${before}`
    try {
      const toolbox = createTools({ workspace: fixture.workspace })
      expect(process.env.PATH.split(':').slice(-2)).toEqual([binFolder, 'node_modules/.bin'])
      expect(await callTool(toolbox, 'Bash', { command: 'echo fine' })).toMatchObject({
        success: true,
        output: 'fine\n',
      })
      expect(await callTool(toolbox, 'Grep', { pattern: 'nowhere' })).toMatchObject({ success: true })
      process.env.PATH = binFolder
      expect(() => createTools({ workspace: fixture.workspace })).toThrow('bwrap is missing')
    } finally {
      process.env.PATH = before
    }
    expect(existsSync(join(fixture.outside, 'marker'))).toBe(false)
  })

  test('SB26 a command that is too long or cannot be started leaves nothing behind', async () => {
    using fixture = createToolWorkspace()
    const before = readdirSync(fixture.workspace)
    const long = await fixture.call('Bash', { command: `: ${'ä'.repeat(90_000)}` })
    expect(long.text).toContain('has 180002 bytes; the maximum is 131071')
    await expect(fixture.toolbox.sandbox.spawn({ command: ['true'], env: { A: 'a\0b' } })).rejects.toThrow('NUL')
    await expect(fixture.toolbox.sandbox.spawn({ command: ['true'], env: { 'A=B': 'c' } })).rejects.toThrow(
      "'A=B' is not a valid name",
    )
    const missingFolder = await fixture.toolbox.sandbox.spawn({ command: ['true'], cwd: 'not/there' })
    await expect(missingFolder.ended).rejects.toThrow('ENOENT')
    expect(readdirSync(fixture.workspace)).toEqual(before)
    const accepted = await fixture.call('Bash', { command: `echo ${'x'.repeat(99_000)} | wc -c` })
    expect(accepted.text).toBe('99001\n')
  })

  test('SB26 commands run in a workspace with 20 repositories, and all of them are protected', async () => {
    using fixture = createToolWorkspace()
    for (let index = 0; index < 20; index++)
      fixture.writeFile(`projects/repository-${index}/.git/HEAD`, 'ref: refs/heads/main\n')
    const command = 'for folder in projects/*; do echo evil > $folder/.git/config; done 2>/dev/null; echo fine'
    const result = await fixture.call('Bash', { command })
    expect(result, JSON.stringify(result)).toMatchObject({ success: true, output: 'fine\n' })
    const written = readdirSync(join(fixture.workspace, 'projects')).filter((name) =>
      existsSync(join(fixture.workspace, 'projects', name, '.git/config')),
    )
    expect(written).toEqual([])
  })

  test('SB27 only Node itself is visible in the folder where it is installed', () => {
    using fixture = createToolWorkspace()
    const prefix = join(fixture.outside, '.local')
    for (const path of ['bin/node', 'share/keyrings/login', 'lib/node_modules/npm/cli.js', 'include/node/node.h']) {
      mkdirSync(dirname(join(prefix, path)), { recursive: true })
      writeFileSync(join(prefix, path), '')
    }
    symlinkSync('../lib/node_modules/npm/cli.js', join(prefix, 'bin/npm'))
    const node = join(prefix, 'bin/node')
    const nodeFolders = ['bin', 'lib/node_modules', 'include/node'].map((path) => join(prefix, path))
    expect(nodeInstallation(node)).toEqual(nodeFolders)
    writeFileSync(join(prefix, 'bin/my-script'), 'token')
    expect(nodeInstallation(node)).toEqual([node])
  })

  test('SB14 a seccomp filter exists for this architecture', () => {
    const [closed, open] = [createSeccompFilter({ unixSockets: false }), createSeccompFilter({ unixSockets: true })]
    expect(closed?.length).toBe((open?.length ?? 0) + 16)
  })

  test('SB15 servers run in the sandbox, communicate through pipes, and are killed with their children', async () => {
    using fixture = createToolWorkspace()
    const server = await spawnSandboxedServer(fixture.toolbox.sandbox, {
      command: ['sh', '-c', 'cat; sleep 60 & wait'],
      write: false,
    })
    const output = new Promise<string>((resolve) =>
      server.child.stdout?.once('data', (chunk) => resolve(String(chunk))),
    )
    server.child.stdin?.end('hello')
    expect(await output).toBe('hello')
    server.kill()
    expect(await server.ended).toMatchObject({ signal: 'SIGKILL' })
    const readOnly = await spawnSandboxedServer(fixture.toolbox.sandbox, { command: 'touch made', write: false })
    expect((await readOnly.ended).code).not.toBe(0)
    expect(existsSync(join(fixture.workspace, 'made'))).toBe(false)
  })

  test('SB16 commands leave nothing behind on the machine', async () => {
    using fixture = createToolWorkspace()
    execFileSync('git', ['init', '-q', fixture.workspace])
    const before = readdirSync(fixture.workspace)
    await Promise.all([1, 2, 3].map((number) => fixture.call('Bash', { command: `true ${number}` })))
    await delay(50)
    expect(readdirSync(fixture.workspace)).toEqual(before)
    const parent = pidsCgroupParent()
    if (parent) expect(readdirSync(parent).filter((name) => name.startsWith(`troupe-${process.pid}-`))).toEqual([])
  })

  test('SB17 with allowed hosts, commands reach those through the proxy, and nothing else', async () => {
    let requests = 0
    const server = createServer((_request, response) => {
      requests++
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
    expect(requests).toBe(1)
    server.close()
  })

  test('SB40 a sandbox that is closed while it opens starts nothing, and keeps no proxy', async () => {
    const options = { network: { hosts: ['example.invalid'] } }
    using closed = createToolWorkspace(options)
    const waiting = closed.toolbox.sandbox.spawn({ command: 'touch made' })
    const closing = closed.toolbox.sandbox.close()
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
    await closing
    await expect(closed.toolbox.sandbox.spawn({ command: 'touch made' })).rejects.toMatchObject({ code: 'cancelled' })
    expect(existsSync(join(closed.workspace, 'made'))).toBe(false)
    using next = createToolWorkspace(options)
    const { text } = await next.call('Bash', { command: 'tr "\\0" " " < /proc/1/cmdline' })
    const [, socket = ''] = /UNIX-CONNECT:(\S+)/.exec(text) ?? []
    expect(existsSync(socket)).toBe(true)
    await next.toolbox.close()
    expect(existsSync(socket)).toBe(false)
  })
})
