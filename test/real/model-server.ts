import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Installing the model of a fresh folder takes a while. */
const START_TIMEOUT_MS = 10 * 60_000

export interface ModelServer {
  baseUrl: string
  stop(): Promise<void>
}

/** The server of `TROUPE_COMPATIBLE_BASE_URL`, or one that the program `REAL_MODEL_START` starts on `PORT`. */
export async function openModelServer(env: NodeJS.ProcessEnv): Promise<ModelServer> {
  const running = env.TROUPE_COMPATIBLE_BASE_URL
  if (running) return { baseUrl: running.replace(/\/$/, ''), stop: async () => {} }
  const program = env.REAL_MODEL_START
  if (program) return startModelServer(program, env)
  throw new Error(
    'test:real needs a model: set REAL_MODEL_START to a program that serves chat completions on 127.0.0.1:$PORT/v1 ' +
      '(it gets a folder as argument: REAL_MODEL_FOLDER, or a temporary one), or TROUPE_COMPATIBLE_BASE_URL to a running server',
  )
}

async function startModelServer(program: string, env: NodeJS.ProcessEnv): Promise<ModelServer> {
  const port = await freePort()
  const folder = env.REAL_MODEL_FOLDER ?? mkdtempSync(join(tmpdir(), 'real-model-'))
  // Small answers: the model writes 5 to 10 tokens a second.
  const settings = { CAP: '48', JCAP: '140', THREADS: '1', LOG: join(folder, 'wire.jsonl'), PORT: String(port) }
  // A group of its own, so that the children of a shell script stop with it.
  const child = spawn(program, [folder], {
    env: { ...settings, ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  }
  process.once('exit', kill)
  const baseUrl = `http://127.0.0.1:${port}/v1`
  await waitUntilReady(baseUrl, child)
  return {
    baseUrl,
    async stop() {
      const exited = child.exitCode === null ? once(child, 'exit') : Promise.resolve()
      kill()
      process.off('exit', kill)
      await exited
    },
  }
}

async function waitUntilReady(baseUrl: string, child: { exitCode: number | null }): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`REAL_MODEL_START exited with ${child.exitCode} before it served`)
    const response = await fetch(`${baseUrl}/models`).catch(() => undefined)
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error(`REAL_MODEL_START did not serve ${baseUrl}/models within ${START_TIMEOUT_MS / 60_000} minutes`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
