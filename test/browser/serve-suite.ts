import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { findProgram } from '../../src/tools/search/ripgrep.ts'
import type { OpenedPage } from './browser.ts'
import { launchBrowser, openPage } from './browser.ts'
import type { ServeProcess, ServeSettings } from './serve-process.ts'
import { startServe } from './serve-process.ts'

export interface ServeSuite {
  readonly browser: Browser
  readonly serve: ServeProcess
  /** Opens a path of the page, signed in, in a profile of its own. */
  open(path?: string, options?: Parameters<typeof openPage>[2]): Promise<OpenedPage>
  /** Starts a task of the default agent, and returns its run. */
  startTask(instruction: string, tags?: readonly string[]): Promise<string>
  /** Waits until the run has the status. */
  reaches(run_id: string, status: string): Promise<void>
}

/** One browser and one server for all tests of a file. Without Chromium neither is started, and the tests say so. */
export function useServe(settings: ServeSettings): ServeSuite {
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
  let parts: { browser: Browser; serve: ServeProcess } | undefined
  const started = () => {
    if (!parts) throw new Error('chromium is missing')
    return parts
  }
  beforeAll(async () => {
    if (findProgram('chromium') === undefined) return
    const [browser, serve] = await Promise.all([launchBrowser(), startServe(settings)])
    parts = { browser, serve }
  })
  afterAll(async () => {
    await parts?.browser.close()
    await parts?.serve[Symbol.asyncDispose]()
  })
  return {
    get browser() {
      return started().browser
    },
    get serve() {
      return started().serve
    },
    open: async (path = '', options = {}) => {
      const opened = await openPage(started().browser, started().serve.pageAddress.replace('/#', `${path}#`), options)
      // Going elsewhere before the token is exchanged for a session would leave the page signed out.
      await expect.poll(() => opened.page.evaluate(`localStorage.getItem('troupe:csrf')`)).not.toBeNull()
      return opened
    },
    startTask: async (instruction, tags = []) => {
      const body = { input: { agent: 'default', instruction }, tags }
      return (await started().serve.api<{ run_id: string }>('POST', '/api/patterns/task/runs', body)).run_id
    },
    reaches: (run_id, status) =>
      expect
        .poll(async () => (await started().serve.api<{ status: string }>('GET', `/api/runs/${run_id}`)).status)
        .toBe(status),
  }
}
