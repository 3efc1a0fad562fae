import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxOptions } from '../../src/tools/sandbox/sandbox.ts'
import type { ToolWorkspace } from './tool-workspace.ts'
import { createToolWorkspace } from './tool-workspace.ts'

/** Must never appear in a result. It is in a file outside, in the environment, and sent by every listener. */
export const SECRET = 'b7f1-the-secret-of-the-host'

/** A workspace with targets outside of it: files, listeners, sockets and a process. `confined: false` is the control run. */
export interface HostFixture extends ToolWorkspace {
  confined: boolean
  /** A unique name for files in shared folders such as `/tmp`. */
  unique: string
  marker: string
  /** Ports of listeners on this machine. */
  ports: { tcp: number; tcp6: number; udp: number }
  connectionCount(): number
  /** A process of the host. */
  victim: ChildProcess
  /** Unix sockets: outside the workspace, inside, and abstract. */
  sockets: { outside: string; inside: string; abstract: string }
}

export interface HostFixtureOptions {
  confined: boolean
  sandbox?: SandboxOptions
}

let fixtureCount = 0

export async function openHostFixture({
  confined,
  sandbox = {},
}: HostFixtureOptions): Promise<HostFixture & AsyncDisposable> {
  const fixture = createToolWorkspace({ sandbox: confined ? sandbox : 'none', protect: ['definitions', 'store'] })
  const unique = `troupe-escape-${process.pid}-${++fixtureCount}`
  mkdirSync(join(fixture.outside, 'home'))
  writeFileSync(join(fixture.outside, 'secret.txt'), `${SECRET}\n`)
  writeFileSync(join(fixture.outside, 'home', '.netrc'), `${SECRET}\n`)
  let connections = 0
  const sockets = {
    outside: join(fixture.outside, 's.sock'),
    inside: join(fixture.workspace, 's.sock'),
    abstract: `\0${unique}`,
  }
  const servers: Server[] = []
  const listen = async (address: { port: number; host: string } | { path: string }) => {
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => {})
      socket.end(SECRET)
    })
    servers.push(server)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(address, resolve))
    const bound = server.address()
    return typeof bound === 'object' && bound ? bound.port : 0
  }
  const tcp = await listen({ port: 0, host: '0.0.0.0' })
  const tcp6 = await listen({ port: 0, host: '::1' }).catch(() => 0)
  for (const path of Object.values(sockets)) await listen({ path })
  const datagrams = createSocket('udp4', () => connections++)
  await new Promise<void>((resolve) => datagrams.bind(0, '127.0.0.1', resolve))
  const victim = spawn('sleep', ['120'], { stdio: 'ignore' })
  return {
    ...fixture,
    confined,
    unique,
    marker: join(fixture.outside, 'marker'),
    ports: { tcp, tcp6, udp: datagrams.address().port },
    connectionCount: () => connections,
    victim,
    sockets,
    async [Symbol.asyncDispose]() {
      victim.kill('SIGKILL')
      datagrams.close()
      for (const server of servers) server.close()
      for (const folder of [tmpdir(), '/dev/shm', '/var/tmp']) rmSync(join(folder, unique), { force: true })
      fixture[Symbol.dispose]()
    },
  }
}

export function hasMarker({ marker }: HostFixture): boolean {
  return existsSync(marker)
}

/** Whether the host sees the file in a shared folder. */
export function hasSharedFile(folder: string, { unique }: HostFixture): boolean {
  return existsSync(join(folder, unique))
}

export function readIfExists(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
