import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { writeSampleRepository } from '../support/build-sample.ts'

const CLI = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const CHILD = fileURLToPath(new URL('../chaos/build-child.ts', import.meta.url))

interface CleanUp {
  removed: { status: string }[]
  kept: unknown[]
}

test('BD35 GT31 what a killed build has left is named and removed; a build at work is left alone', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe left ü-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const project = join(folder, 'project')
  mkdirSync(project)
  const repository = writeSampleRepository(project)
  const before = repository.fingerprint()
  const branches = () => repository.git('branch', '--format=%(refname:short)').trim().split('\n')
  const troupe = (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: join(folder, 'state') }
    const common = ['--store', join(folder, 'troupe.db'), '--json']
    const { stdout, stderr } = spawnSync(process.execPath, [CLI, ...args, ...common], {
      cwd: project,
      env,
      encoding: 'utf8',
    })
    return { stdout, stderr }
  }
  const doctor = () =>
    (
      JSON.parse(troupe('doctor').stdout) as { checks: { name: string; message: string; hint: string }[] }
    ).checks.filter(({ name }) => name === 'worktree')
  const child = spawn(process.execPath, [CHILD, folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  // The first request of the model: the integration worktree is there.
  while (!existsSync(join(folder, 'requests')) && child.exitCode === null) await delay(20)
  child.kill('SIGSTOP')
  expect(doctor()).toEqual([])
  expect(JSON.parse(troupe('build', '--clean-up').stdout)).toEqual({ removed: [], kept: [] })
  expect(branches().length).toBeGreaterThan(1)

  child.kill('SIGKILL')
  await once(child, 'exit')
  const [left] = doctor()
  const run_id = /run (r_\w+) \(interrupted\)/.exec(left?.message ?? '')?.[1] ?? ''
  expect(left?.hint).toBe(`to continue: troupe resume ${run_id}; to remove it: troupe build --clean-up`)
  expect(troupe('build', 'write slug', '--no-approve').stderr).toContain(`build ${run_id} (interrupted) left`)
  const { removed, kept } = JSON.parse(troupe('build', '--clean-up', '--repo', project).stdout) as CleanUp
  // The second build failed, without a model: it could be resumed, too, and is given up here.
  expect(removed.map(({ status }) => status).sort()).toEqual(['failed', 'interrupted'])
  expect(kept).toEqual([])
  expect(doctor()).toEqual([])
  expect(branches()).toEqual(['main'])
  expect(repository.fingerprint()).toBe(before)
})
