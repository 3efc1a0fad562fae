import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'

const node = (script: string) => `timeout 4 node -e '${script}'`
const connectScript = (target: string) =>
  node(
    `require("net").connect(${target}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`,
  )
const hasConnection = ({ connectionCount }: HostFixture) => connectionCount() > 0

/** An address of this machine that is not loopback, where it has one. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

export const networkAttempts: readonly Attempt[] = [
  {
    title: 'bash on loopback',
    run: ({ ports }) => `timeout 4 cat < /dev/tcp/127.0.0.1/${ports.tcp}`,
    escaped: hasConnection,
  },
  {
    title: 'a program on loopback',
    run: ({ ports }) => connectScript(`${ports.tcp}, "127.0.0.1"`),
    escaped: hasConnection,
  },
  {
    title: 'localhost by name',
    run: ({ ports }) => connectScript(`${ports.tcp}, "localhost"`),
    escaped: hasConnection,
  },
  { title: 'IPv6 loopback', run: ({ ports }) => connectScript(`${ports.tcp6}, "::1"`), escaped: hasConnection },
  { title: 'the address zero', run: ({ ports }) => connectScript(`${ports.tcp}, "0.0.0.0"`), escaped: hasConnection },
  {
    title: 'another address of this machine',
    run: ({ ports }) => connectScript(`${ports.tcp}, "${ownAddress ?? '127.0.0.2'}"`),
    escaped: hasConnection,
  },
  {
    title: 'a datagram',
    run: ({ ports }) =>
      node(`const s = require("dgram").createSocket("udp4"); s.send("x", ${ports.udp}, "127.0.0.1", () => s.close())`),
    escaped: async (scene) => {
      await delay(50)
      return hasConnection(scene)
    },
  },
  {
    title: 'git over the network',
    run: ({ ports }) => `timeout 4 git ls-remote http://127.0.0.1:${ports.tcp}/x`,
    escaped: hasConnection,
  },
  {
    title: 'a socket beside the workspace',
    run: ({ sockets }) => connectScript(`"${sockets.outside}"`),
    escaped: hasConnection,
  },
  { title: 'a socket in the workspace', run: () => connectScript('"s.sock"'), escaped: hasConnection },
  {
    title: 'a socket without a file',
    run: ({ sockets }) => connectScript(`"\\0${sockets.abstract.slice(1)}"`),
    escaped: hasConnection,
  },
  {
    title: 'a service for the host',
    run: {
      async call(scene: HostFixture) {
        const script =
          'const s = require("net").createServer((c) => c.end("x")).listen(0, "0.0.0.0", () => require("fs").writeFileSync("port", String(s.address().port)))'
        const serving = scene.call('Bash', { command: `timeout 1.5 node -e '${script}'` })
        const answer = await isPortReachable(scene)
        await serving
        return { success: answer, text: answer ? 'reached' : '' }
      },
    },
    escaped: (_scene, { text }) => text === 'reached',
  },
]

/** Whether something answers on the port that the command wrote down. */
async function isPortReachable({ workspace }: HostFixture): Promise<boolean> {
  for (let look = 0; look < 25; look++) {
    await delay(50)
    const file = `${workspace}/port`
    const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    if (port > 0) {
      return new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1')
        socket.once('data', () => resolve(true))
        socket.once('error', () => resolve(false))
      })
    }
  }
  return false
}
