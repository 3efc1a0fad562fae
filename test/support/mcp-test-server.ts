import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { StdioServerConfig } from '../../src/index.ts'

const SERVER_FILE = fileURLToPath(new URL('../fixtures/mcp/scene-server.mjs', import.meta.url))

/** How the server of a test behaves; see the fixture. */
export interface TestServerBehavior {
  tools?: unknown[]
  hang?: string[]
  ignoreEnd?: true
  noise?: true
  era?: 'modern'
}

export interface TestServer {
  config: StdioServerConfig
  /** What the server was asked so far, a line each. */
  log(): string[]
  /** The processes that were started, in order. */
  pids(): number[]
}

/** A server of this test alone, with its log. */
export function createTestServer(scene: TestServerBehavior = {}, env: Record<string, string> = {}): TestServer {
  const file = join(temporaryFolder(), 'log')
  const log = () => {
    try {
      return readFileSync(file, 'utf8').trim().split('\n')
    } catch {
      return []
    }
  }
  return {
    config: {
      command: process.execPath,
      args: [SERVER_FILE],
      env: { ...env, SCENE: JSON.stringify({ ...scene, log: file }) },
    },
    log,
    pids: () => log().flatMap((line) => (line.startsWith('start ') ? Number(line.slice(6)) : [])),
  }
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

/** Looks until it is so; for what another process does in its own time. */
export async function waitUntil(what: () => boolean, most = 15_000): Promise<void> {
  for (let waited = 0; !what(); waited += 10) {
    if (waited > most) throw new Error(`it did not come to be: ${what}`)
    await delay(10)
  }
}
