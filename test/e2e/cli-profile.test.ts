import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

function troupe(cwd: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: 'utf8' })
  // Errors wrap in a narrow terminal.
  return { status, stdout, stderr: stderr.replace(/\s+/g, ' ') }
}

test('PJ7 troupe profile prints the profile, and writes it once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-profile-'))
  try {
    writeFileSync(join(folder, 'go.mod'), 'module x\nrequire github.com/gin-gonic/gin v1.9.0\n')
    const shown = troupe(folder, 'profile')
    expect(shown).toMatchObject({ status: 0, stderr: '' })
    expect(shown.stdout).toMatch(/web service[\s\S]*Go, Gin/)
    expect(JSON.parse(troupe(folder, 'profile', '--json').stdout)).toMatchObject({
      tech_stack: ['Go', 'Gin'],
      source: 'detected',
    })
    expect(troupe(folder, 'profile', '--write').status).toBe(0)
    const path = join(folder, '.troupe', 'profile.yaml')
    writeFileSync(path, readFileSync(path, 'utf8').replace('web service', 'billing service'))
    expect(JSON.parse(troupe(folder, 'profile', '--json').stdout)).toMatchObject({
      project_type: 'billing service',
      source: 'file',
    })
    expect(troupe(folder, 'profile', '--write')).toMatchObject({ status: 2, stderr: expect.stringContaining('exists') })
    expect(readFileSync(path, 'utf8')).toContain('billing service')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('PJ7 wrong folders and links out of the project are refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-profile-'))
  try {
    expect(troupe(folder, 'profile', 'missing')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is no folder'),
    })
    mkdirSync(join(folder, 'project'))
    mkdirSync(join(folder, 'outside'))
    symlinkSync(join(folder, 'outside'), join(folder, 'project', '.troupe'))
    expect(troupe(join(folder, 'project'), 'profile', '--write')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is a link'),
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
