import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { StdioServerConfig } from '../../src/tools/mcp/mcp-server-config.ts'
import { timeLimit } from './time-limit.ts'

const SERVER_FILE = fileURLToPath(new URL('../fixtures/mcp/test-server.mjs', import.meta.url))

/** Behaviour of the test server; see test/fixtures/mcp/test-server.mjs. */
export interface TestServerBehavior {
  tools?: unknown[]
  hang?: string[]
  ignoreEnd?: true
  noise?: true
  era?: 'modern'
}

export interface TestServer {
  config: StdioServerConfig
  /** Requests received so far, one line each. */
  log(): string[]
  /** Process ids of the started servers, in order. */
  pids(): number[]
}

/** Configures a stdio server with its own log file. */
export function createTestServer(behavior: TestServerBehavior = {}, env: Record<string, string> = {}): TestServer {
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
      env: { ...env, TEST_SERVER: JSON.stringify({ ...behavior, log: file }) },
    },
    log,
    pids: () => log().flatMap((line) => (line.startsWith('start ') ? Number(line.slice(6)) : [])),
  }
}

/** Creates a folder that is removed after the test. */
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

/** Polls a condition; for effects of another process. */
export async function waitUntil(condition: () => boolean, timeout_ms = timeLimit(60_000)): Promise<void> {
  for (let waited = 0; !condition(); waited += 10) {
    if (waited > timeout_ms) throw new Error(`timed out waiting for ${condition}`)
    await delay(10)
  }
}
