import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { requireSandbox } from '../support/require-program.ts'

/** Every entry of a folder with its type, rights and content; without the store of Troupe. */
function snapshot(root: string, folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (path === join(root, '.troupe')) return []
    const { mode } = lstatSync(path)
    const content = entry.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''
    return [
      `${relative(root, path)} ${mode.toString(8)} ${content}`,
      ...(entry.isDirectory() ? snapshot(root, path) : []),
    ]
  })
}

/** Processes whose command line contains this text. */
function processesWith(text: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

/** How long the command works; the fraction names it among all processes. */
const SECONDS = `60.${process.pid}`

/** A run whose command is at work in the sandbox of a workspace. */
async function startCommand() {
  requireSandbox()
  const fixture = await createCliFixture()
  const home = join(fixture.folder, 'home')
  const workspace = join(fixture.folder, 'work')
  await fixture.write('home/.keep', '')
  await fixture.write('work/a.txt', 'kept')
  spawnSync('git', ['init', '-q', workspace])
  const Bash = { name: 'Bash', input: { command: `echo begun > marker; rm marker; sleep ${SECONDS}` } }
  const model = await fixture.script('script.json', [
    { when: { turn: 1 }, reply: { toolCalls: [Bash] } },
    { reply: { text: 'done' } },
  ])
  const before = snapshot(workspace)
  const env = { HOME: home }
  const options = ['--workspace', 'work', '--allow', 'Bash(*)']
  const run = fixture.startWith({ env }, 'run', 'task', 'go', '--model', model, ...options)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  await expect.poll(() => snapshot(workspace).length).toBeGreaterThan(before.length)
  const resume = () => fixture.troupeWith({ env }, 'resume', run_id, ...options)
  return { home, workspace, before, run, resume }
}

test('SB34 after a kill of Troupe and its watchdog, the next start leaves the workspace as it was', async () => {
  const { home, workspace, before, run, resume } = await startCommand()
  for (const pid of processesWith('command-watchdog')) {
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(home)) process.kill(pid, 'SIGKILL')
  }
  run.kill('SIGKILL')
  await run.done
  expect(snapshot(workspace), 'control: mount points are left').not.toEqual(before)
  expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining('done') })
  expect(snapshot(workspace)).toEqual(before)
})

test('SB34 after a closed terminal (SIGHUP), the workspace is as it was without another start', async () => {
  const { workspace, before, run, resume } = await startCommand()
  await expect.poll(() => processesWith(`sleep\0${SECONDS}`).length).toBeGreaterThan(0)
  run.kill('SIGHUP')
  await run.done
  await expect.poll(() => snapshot(workspace)).toEqual(before)
  expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining('done') })
  expect(snapshot(workspace)).toEqual(before)
})
