import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openBrowser } from '../../src/surfaces/cli/serve/open-browser.ts'
import { requireProgram } from '../support/require-program.ts'
import { launchBrowser, openPage } from './browser.ts'
import { startServe } from './serve-process.ts'

vi.setConfig({ testTimeout: 60_000 })

test('HS30 the file that --open gives to the browser leads to the page, logged in', async () => {
  requireProgram('chromium')
  await using serve = await startServe({ script: { rules: [{ reply: { text: 'Done.' } }] } })
  const program = join(serve.folder, 'open-program')
  const opened = join(serve.folder, 'opened.txt')
  await writeFile(program, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`)
  await chmod(program, 0o755)
  expect(await openBrowser(serve.pageAddress, program)).toBe(true)
  await using browser = await launchBrowser()
  await using given = await openPage(browser, await readFile(opened, 'utf8'))
  await given.page.waitForURL(`${serve.address}/**`)
  await given.page.getByRole('link', { name: /^Inbox/ }).waitFor()
  expect(given.page.url()).not.toContain('token')
  expect(given.problems).toEqual([])
})
