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

/** What must not come out. It stands in a file outside, in the environment, and behind every listener. */
export const SECRET = 'b7f1-the-secret-of-the-host'

/** A workspace with everything beside it that an attempt could reach for; `confined: false` is the control run. */
export interface HostFixture extends ToolWorkspace {
  confined: boolean
  /** A name for files in folders that the whole machine shares. */
  unique: string
  marker: string
  /** Ports of listeners on this machine, and how often someone came. */
  ports: { tcp: number; tcp6: number; udp: number }
  connectionCount(): number
  /** A process of the host that an attempt may want to reach. */
  victim: ChildProcess
  /** Sockets in the file system: beside the workspace, in it, and without a file. */
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
  let visits = 0
  const sockets = {
    outside: join(fixture.outside, 's.sock'),
    inside: join(fixture.workspace, 's.sock'),
    abstract: `\0${unique}`,
  }
  const servers: Server[] = []
  const listen = async (where: { port: number; host: string } | { path: string }) => {
    const server = createServer((socket) => {
      visits++
      socket.on('error', () => {})
      socket.end(SECRET)
    })
    servers.push(server)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(where, resolve))
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }
  const tcp = await listen({ port: 0, host: '0.0.0.0' })
  const tcp6 = await listen({ port: 0, host: '::1' }).catch(() => 0)
  for (const path of Object.values(sockets)) await listen({ path })
  const datagrams = createSocket('udp4', () => visits++)
  await new Promise<void>((resolve) => datagrams.bind(0, '127.0.0.1', resolve))
  const victim = spawn('sleep', ['120'], { stdio: 'ignore' })
  return {
    ...fixture,
    confined,
    unique,
    marker: join(fixture.outside, 'marker'),
    ports: { tcp, tcp6, udp: datagrams.address().port },
    connectionCount: () => visits,
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

/** Whether the host finds such a file in a folder that everyone shares. */
export function hasSharedFile(folder: string, { unique }: HostFixture): boolean {
  return existsSync(join(folder, unique))
}

export function readIfExists(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
