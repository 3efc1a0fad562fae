import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/* A real `troupe serve` in a process of its own, on a store in a folder of its own, with a scripted model. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

export interface ServeProcess extends AsyncDisposable {
  address: string
  /** The address with the token, as it is printed for people. */
  pageAddress: string
  folder: string
  /** A request with the token, as a program makes it. */
  api<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result>
  /** Kills the process with SIGKILL, and starts another one on the same store and port. */
  restart(options?: { whileDown?: () => Promise<void> }): Promise<void>
}

export interface ServeSettings {
  script: unknown
  args?: readonly string[]
}

export async function startServe({ script, args = [] }: ServeSettings): Promise<ServeProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe browser ü '))
  const workspace = join(folder, 'workspace')
  await mkdir(workspace)
  const scriptFile = join(folder, 'script.json')
  await writeFile(scriptFile, JSON.stringify(script))
  const settings = ['--json', '--store', join(folder, 'store'), '--model', `scripted:${scriptFile}`, ...args]
  const start = (port: string) => spawnServe(folder, ['serve', '--port', port, ...settings])
  let running = await start('0')
  const { address, token } = running
  return {
    address,
    folder,
    pageAddress: `${address}/#token=${token}`,
    async api<Result>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Result> {
      const response = await fetch(address + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-troupe-request': '1' },
        ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as Result
    },
    async restart({ whileDown } = {}) {
      await stopProcess(running.process, 'SIGKILL')
      await whileDown?.()
      running = await start(new URL(address).port)
    },
    async [Symbol.asyncDispose]() {
      await stopProcess(running.process, 'SIGTERM')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface RunningServe {
  process: ChildProcess
  address: string
  token: string
}

async function spawnServe(folder: string, args: readonly string[]): Promise<RunningServe> {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: join(folder, 'workspace'),
    env: { PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  return new Promise((resolve, reject) => {
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text
      const printed = parseJson(output)
      if (printed) resolve({ process: child, ...printed })
    })
    child.once('exit', (code) => reject(new Error(`troupe serve ended with ${code}: ${errors}`)))
  })
}

function parseJson(text: string): { address: string; token: string } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function stopProcess(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  await ended
  clearTimeout(late)
}
