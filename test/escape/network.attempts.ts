import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attempt } from './attempt.ts'
import type { Scene } from './scene.ts'

const node = (script: string) => `timeout 4 node -e '${script}'`
const talk = (target: string) =>
  node(
    `require("net").connect(${target}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`,
  )
const visited = ({ visits }: Scene) => visits() > 0

/** An address of this machine that is not loopback, where it has one. */
const own = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

export const network: readonly Attempt[] = [
  { what: 'bash on loopback', run: ({ ports }) => `timeout 4 cat < /dev/tcp/127.0.0.1/${ports.tcp}`, escaped: visited },
  { what: 'a program on loopback', run: ({ ports }) => talk(`${ports.tcp}, "127.0.0.1"`), escaped: visited },
  { what: 'localhost by name', run: ({ ports }) => talk(`${ports.tcp}, "localhost"`), escaped: visited },
  { what: 'IPv6 loopback', run: ({ ports }) => talk(`${ports.tcp6}, "::1"`), escaped: visited },
  { what: 'the address zero', run: ({ ports }) => talk(`${ports.tcp}, "0.0.0.0"`), escaped: visited },
  {
    what: 'another address of this machine',
    run: ({ ports }) => talk(`${ports.tcp}, "${own ?? '127.0.0.2'}"`),
    escaped: visited,
  },
  {
    what: 'a datagram',
    run: ({ ports }) =>
      node(`const s = require("dgram").createSocket("udp4"); s.send("x", ${ports.udp}, "127.0.0.1", () => s.close())`),
    escaped: async (scene) => {
      await delay(50)
      return visited(scene)
    },
  },
  {
    what: 'git over the network',
    run: ({ ports }) => `timeout 4 git ls-remote http://127.0.0.1:${ports.tcp}/x`,
    escaped: visited,
  },
  { what: 'a socket beside the workspace', run: ({ sockets }) => talk(`"${sockets.outside}"`), escaped: visited },
  { what: 'a socket in the workspace', run: () => talk('"s.sock"'), escaped: visited },
  {
    what: 'a socket without a file',
    run: ({ sockets }) => talk(`"\\0${sockets.abstract.slice(1)}"`),
    escaped: visited,
  },
  {
    what: 'a service for the host',
    run: {
      async call(scene: Scene) {
        const script =
          'const s = require("net").createServer((c) => c.end("x")).listen(0, "0.0.0.0", () => require("fs").writeFileSync("port", String(s.address().port)))'
        const serving = scene.call('Bash', { command: `timeout 1.5 node -e '${script}'` })
        const answer = await reached(scene)
        await serving
        return { success: answer, text: answer ? 'reached' : '' }
      },
    },
    escaped: (_scene, { text }) => text === 'reached',
  },
]

/** Whether something answers on the port that the command wrote down. */
async function reached({ workspace }: Scene): Promise<boolean> {
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
