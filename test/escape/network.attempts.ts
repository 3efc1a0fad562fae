import { randomUUID } from 'node:crypto'
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

/** A non-loopback address of this machine, if it has one. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

export const networkAttempts: readonly Attempt[] = [
  {
    title: 'loopback with bash',
    run: ({ ports }) => `timeout 4 cat < /dev/tcp/127.0.0.1/${ports.tcp}`,
    escaped: hasConnection,
  },
  {
    title: 'loopback with node',
    run: ({ ports }) => connectScript(`${ports.tcp}, "127.0.0.1"`),
    escaped: hasConnection,
  },
  {
    title: 'localhost by name',
    run: ({ ports }) => connectScript(`${ports.tcp}, "localhost"`),
    escaped: hasConnection,
  },
  { title: 'IPv6 loopback', run: ({ ports }) => connectScript(`${ports.tcp6}, "::1"`), escaped: hasConnection },
  {
    title: 'the address 0.0.0.0',
    run: ({ ports }) => connectScript(`${ports.tcp}, "0.0.0.0"`),
    escaped: hasConnection,
  },
  {
    title: 'another address of this machine',
    run: ({ ports }) => connectScript(`${ports.tcp}, "${ownAddress ?? '127.0.0.2'}"`),
    escaped: hasConnection,
  },
  {
    title: 'a UDP datagram',
    run: ({ ports }) =>
      node(`const s = require("dgram").createSocket("udp4"); s.send("x", ${ports.udp}, "127.0.0.1", () => s.close())`),
    escaped: async (host) => {
      for (let wait = 0; wait < 10 && !hasConnection(host); wait++) await delay(50)
      return hasConnection(host)
    },
  },
  {
    title: 'git over the network',
    run: ({ ports }) => `timeout 4 git ls-remote http://127.0.0.1:${ports.tcp}/x`,
    escaped: hasConnection,
  },
  {
    title: 'a unix socket outside the workspace',
    run: ({ sockets }) => connectScript(`"${sockets.outside}"`),
    escaped: hasConnection,
  },
  { title: 'a unix socket in the workspace', run: () => connectScript('"s.sock"'), escaped: hasConnection },
  {
    title: 'an abstract unix socket',
    run: ({ sockets }) => connectScript(`"\\0${sockets.abstract.slice(1)}"`),
    escaped: hasConnection,
  },
  {
    title: 'a listener that the host can reach',
    run: {
      async call(host: HostFixture) {
        // The same port may be that of another server of this machine.
        const token = randomUUID()
        const script = `const s = require("net").createServer((c) => c.end("${token}")).listen(0, "0.0.0.0", () => { require("fs").writeFileSync("port", String(s.address().port)); setTimeout(process.exit, 1000) })`
        const listener = host.call('Bash', { command: `timeout 8 node -e '${script}'` })
        const reached = await isPortReachable(host, token)
        await listener
        return { success: reached, text: reached ? 'reached' : '' }
      },
    },
    escaped: (_host, { text }) => text === 'reached',
  },
]

/** Whether the port that the command wrote to a file answers with the token. */
async function isPortReachable({ workspace }: HostFixture, token: string): Promise<boolean> {
  for (let attempt = 0; attempt < 120; attempt++) {
    await delay(50)
    const file = `${workspace}/port`
    const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    if (port > 0) {
      return new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1')
        socket.once('data', (data) => resolve(String(data) === token))
        socket.once('error', () => resolve(false))
      })
    }
  }
  return false
}
