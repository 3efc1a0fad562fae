import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { writeDemoProject } from '../../src/surfaces/cli/demo/demo-project.ts'
import { openBrowser } from '../../src/surfaces/cli/serve/open-browser.ts'
import { launchMcpServer } from '../../src/tools/mcp/launch-server.ts'
import { describeSandbox } from '../../src/tools/sandbox/describe-sandbox.ts'
import { hostProgramPath } from '../../src/tools/sandbox/trusted-path.ts'
import { countEachTest } from '../support/attempt-count.ts'

beforeEach(countEachTest('processes'))

/* Programs of a cloned repository with the names of system programs, in folders that `npx`, `npm run` and direnv put into `PATH`. */

let folder: string
let marker: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-path-'))
  marker = join(folder, 'executed')
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** Puts a folder with programs of the repository first in `PATH`. */
function plantPrograms(path: string): string {
  const programs = join(folder, path)
  mkdirSync(programs, { recursive: true })
  for (const name of ['bwrap', 'rg', 'which', 'socat', 'git', 'xdg-open', 'open', 'sh'])
    writeFileSync(join(programs, name), `#!/bin/sh\necho "$0" >> '${marker}'\n`, { mode: 0o755 })
  vi.stubEnv('PATH', [programs, process.env.PATH].join(delimiter))
  return programs
}

test('SB39 the check for a sandbox executes no program of `node_modules/.bin`, wherever it is', () => {
  plantPrograms('repository/node_modules/.bin')
  describeSandbox({ network: true })
  expect(existsSync(marker)).toBe(false)
})

test('SB39 the check for a sandbox executes no program of the working folder', () => {
  const programs = plantPrograms('repository/bin')
  describeSandbox({ network: true })
  expect(existsSync(marker)).toBe(true)
  rmSync(marker)
  vi.spyOn(process, 'cwd').mockReturnValue(join(folder, 'repository'))
  describeSandbox({ network: true })
  expect(existsSync(marker)).toBe(false)
  expect(hostProgramPath([process.cwd()]).split(delimiter)).not.toContain(programs)
})

test('SB39 in a subfolder, the check for a sandbox executes no program of the repository around it, nor of one around that', () => {
  const programs = plantPrograms('repository/bin')
  mkdirSync(join(folder, 'repository/module/sub'), { recursive: true })
  vi.spyOn(process, 'cwd').mockReturnValue(join(folder, 'repository/module/sub'))
  describeSandbox({ network: true })
  expect(existsSync(marker), 'control: no repository').toBe(true)
  rmSync(marker)
  mkdirSync(join(folder, 'repository/.git'))
  writeFileSync(join(folder, 'repository/module/.git'), 'gitdir: ../.git/modules/module')
  describeSandbox({ network: true })
  expect(existsSync(marker)).toBe(false)
  expect(hostProgramPath([process.cwd()]).split(delimiter)).not.toContain(programs)
})

test('SB39 `serve --open` executes no `xdg-open` of the repository; control: that of another folder', async () => {
  for (const path of ['repository/node_modules/.bin', 'repository/bin']) {
    plantPrograms(path)
    vi.spyOn(process, 'cwd').mockReturnValue(join(folder, 'repository'))
    await openBrowser('http://127.0.0.1:1/#token=x')
    expect(existsSync(marker), path).toBe(false)
  }
  mkdirSync(join(folder, 'repository/.git'))
  vi.spyOn(process, 'cwd').mockReturnValue(join(folder, 'repository/sub'))
  await openBrowser('http://127.0.0.1:1/#token=x')
  expect(existsSync(marker), 'in a subfolder').toBe(false)
  plantPrograms('elsewhere')
  expect(await openBrowser('http://127.0.0.1:1/#token=x')).toBe(true)
  expect(existsSync(marker)).toBe(true)
})

test('SB39 the demo executes no `git` of the repository; control: that of another folder', async () => {
  plantPrograms('repository/node_modules/.bin')
  await writeDemoProject(join(folder, 'demo'))
  expect(existsSync(marker)).toBe(false)
  plantPrograms('elsewhere')
  await writeDemoProject(join(folder, 'demo'))
  expect(existsSync(marker)).toBe(true)
})

test('SB39 without the sandbox, a server is no program of the repository that has the name of one of the machine', async () => {
  plantPrograms('repository/node_modules/.bin')
  const start = async (command: string) => {
    const shared = { timeout_ms: undefined, allowedTools: undefined, trust: false, cwd: undefined }
    const spec = { kind: 'stdio' as const, command, args: ['-c', 'true'], env: {}, sandbox: {}, ...shared }
    const context = { sandbox: undefined, unconfined: true, write: false, env: process.env }
    await (await launchMcpServer(spec, context)).ended
    return existsSync(marker)
  }
  expect(await start('sh')).toBe(false)
  writeFileSync(join(folder, 'repository/node_modules/.bin/own-server'), `#!/bin/sh\ntouch '${marker}'\n`, {
    mode: 0o755,
  })
  expect(await start('own-server'), 'control: a name that only the repository has').toBe(true)
})
