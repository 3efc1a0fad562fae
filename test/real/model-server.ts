import type { ChildProcess } from 'node:child_process'
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
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`REAL_MODEL_START cannot be started: ${(error as Error).message}`)
  })
  const kill = () => {
    if (child.pid !== undefined && isRunning(child)) process.kill(-child.pid, 'SIGKILL')
  }
  // A group of its own gets no Ctrl-C of the terminal, and `exit` does not follow a signal: the model would run on.
  const interrupt = () => process.exit(130)
  process.once('exit', kill)
  for (const signal of SIGNALS) process.once(signal, interrupt)
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const stop = async () => {
    const exited = isRunning(child) ? once(child, 'exit') : undefined
    kill()
    process.off('exit', kill)
    for (const signal of SIGNALS) process.off(signal, interrupt)
    await exited
  }
  try {
    if (child.pid === undefined) await failed
    await Promise.race([waitUntilReady(baseUrl, child), failed])
  } catch (error) {
    await stop()
    throw error
  }
  return { baseUrl, stop }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

async function waitUntilReady(baseUrl: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (!isRunning(child))
      throw new Error(`REAL_MODEL_START exited with ${child.exitCode ?? child.signalCode} before it served`)
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
