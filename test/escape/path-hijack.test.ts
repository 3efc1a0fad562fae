import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { describeSandbox } from '../../src/tools/sandbox/describe-sandbox.ts'
import { hostProgramPath } from '../../src/tools/sandbox/trusted-path.ts'

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
  for (const name of ['bwrap', 'rg', 'which', 'socat', 'git'])
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
