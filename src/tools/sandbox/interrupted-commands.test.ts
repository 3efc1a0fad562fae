import type { ChildProcess } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { timeLimit } from '../../../test/support/time-limit.ts'
import { GitGuard } from './git-guard.ts'
import type { CommandRecord } from './interrupted-commands.ts'
import { createMarker, recoverCommands } from './interrupted-commands.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { identifyProcess } from './process-identity.ts'

const WAIT = { timeout: timeLimit(60_000), interval: 20 }
const URL_OF = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** A process of Troupe that executes one command. */
const PROGRAM = `
  const { createTools } = await import(${URL_OF('../tools.ts')})
  const [workspace, records, command] = process.argv.slice(1)
  const { tools } = createTools({ workspace }, records)
  const call = { run_id: 'r', session_id: 's', agent: 'a', tool_call_id: 'c', idempotency_key: 'k', signal: new AbortController().signal }
  await tools.find(({ name }) => name === 'Bash').execute({ command }, call)
`

/** A repository where a command, still running, has planted a nested one that `git status` enters and executes. */
async function plantRepository() {
  const fixture = createToolWorkspace()
  const git = (...args: string[]) => execFileSync('git', ['-C', fixture.workspace, ...args], { stdio: 'pipe' })
  git('init', '-q', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first')
  const [home, executed, planted] = [join(fixture.root, 'home'), join(fixture.outside, 'executed'), 'planted']
  const records = join(home, '.config/troupe/commands')
  mkdirSync(home)
  const command = [
    'git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null',
    `git -C sub config core.fsmonitor 'touch ${executed}; false'`,
    `touch ${planted}; sleep 600`,
  ].join('; ')
  const args = ['--input-type=module', '-e', PROGRAM, fixture.workspace, records, command]
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  await vi.waitFor(() => expect(existsSync(join(fixture.workspace, planted))).toBe(true), WAIT)
  const config = () => readFileSync(join(fixture.workspace, 'sub/.git/config'), 'utf8')
  const statusExecutes = () => {
    git('status')
    const found = existsSync(executed)
    rmSync(executed, { force: true })
    return found
  }
  return { fixture, owner, records, home, config, statusExecutes }
}

async function kill(owner: ChildProcess): Promise<void> {
  owner.kill('SIGKILL')
  await once(owner, 'exit')
}

/** The processes whose command line contains a text, except this one. */
function processesWith(text: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

test('SB34 when Troupe is killed during a command, a watchdog checks the repositories', async () => {
  const { fixture, owner, records, config, statusExecutes } = await plantRepository()
  expect(config()).toContain('fsmonitor')
  expect(recoverCommands(records), 'a command in progress is left alone').toEqual([])
  expect(readdirSync(fixture.workspace), 'control: mount points').toContain('.mcp.json')
  await kill(owner)
  await vi.waitFor(() => expect(config()).not.toContain('fsmonitor'), WAIT)
  await vi.waitFor(() => expect(processesWith(records), 'the watchdog ends').toEqual([]), WAIT)
  expect(statusExecutes()).toBe(false)
  expect(readdirSync(fixture.workspace).sort(), 'no mount point is left').toEqual(['.git', '.troupe', 'planted', 'sub'])
  expect(recoverCommands(records)).toEqual([
    expect.stringMatching(/killed during a command in .*'sub\/\.git\/config' .*core\.fsmonitor.* was renamed to/),
  ])
  expect([recoverCommands(records), readdirSync(records)], 'notes are reported once').toEqual([[], []])
  fixture[Symbol.dispose]()
})

test('SB34 when the watchdog is killed as well, any next command of Troupe checks first', async () => {
  const { fixture, owner, records, home, config, statusExecutes } = await plantRepository()
  const watchdogs = processesWith(records).filter((pid) => pid !== owner.pid)
  expect(watchdogs).toHaveLength(1)
  for (const pid of watchdogs) process.kill(pid, 'SIGKILL')
  await kill(owner)
  expect([config().includes('fsmonitor'), statusExecutes()], 'control: the attack works').toEqual([true, true])
  const main = fileURLToPath(new URL('../../surfaces/cli/main.ts', import.meta.url))
  const runs = spawn(process.execPath, [main, 'runs'], {
    cwd: fixture.workspace,
    env: { ...process.env, HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [notes] = await Promise.all([runs.stderr.toArray(), once(runs, 'exit')])
  expect(Buffer.concat(notes).toString().replace(/\s+/g, ' ')).toMatch(/warning: Troupe was killed.*sub\/\.git\/config/)
  expect([config().includes('fsmonitor'), statusExecutes(), readdirSync(records)]).toEqual([false, false, []])
  fixture[Symbol.dispose]()
})

test('SB34 no process of the command survives the check', async () => {
  const { fixture, owner, records } = await plantRepository()
  const [record = ''] = readdirSync(records)
  const { marker } = JSON.parse(readFileSync(join(records, record), 'utf8')) as { marker: string }
  expect(processesWith(marker).length).toBeGreaterThan(0)
  await kill(owner)
  recoverCommands(records)
  expect(processesWith(marker)).toEqual([])
  fixture[Symbol.dispose]()
})

test('SB34 a record that is incomplete, or that others can write, renames nothing', async () => {
  const { fixture, owner, records } = await plantRepository()
  // The other record is that of the folders which the sandbox creates; their names are random.
  const texts = readdirSync(records).map((name) => readFileSync(join(records, name), 'utf8'))
  const text = texts.find((candidate) => (JSON.parse(candidate) as CommandRecord).repositories.roots.length > 0) ?? ''
  await kill(owner)
  await vi.waitFor(() => expect(processesWith(records)).toEqual([]), WAIT)
  recoverCommands(records)
  const { workspace } = fixture
  execFileSync('git', ['-C', workspace, 'config', 'alias.mine', '!true'])
  execFileSync('git', ['-C', join(workspace, 'sub'), 'config', 'alias.mine', '!true'])
  writeFileSync(join(records, 'a.command.json'), text.slice(0, 100))
  writeFileSync(join(records, 'b.command.json'), text)
  chmodSync(join(records, 'b.command.json'), 0o666)
  expect([recoverCommands(records), readdirSync(records)]).toEqual([[], []])
  expect(readFileSync(join(workspace, 'sub/.git/config'), 'utf8')).toContain('alias')
  writeFileSync(join(records, 'c.command.json'), text, { mode: 0o600 })
  expect(recoverCommands(records), 'control: a private record').toHaveLength(1)
  fixture[Symbol.dispose]()
})

test('SB34 a record that cannot be checked is reported and stops nothing', () => {
  const fixture = createToolWorkspace()
  const records = join(fixture.root, 'records')
  mkdirSync(records)
  const owner = { pid: 1, start: '', boot: 'another', pidNamespace: '' }
  writeFileSync(
    join(records, 'a.command.json'),
    JSON.stringify({ owner, workspace: fixture.workspace, marker: '', repositories: { roots: [] } }),
    {
      mode: 0o600,
    },
  )
  expect(recoverCommands(records)).toEqual([
    expect.stringMatching(/cannot be checked: TypeError: .*no valid marker.*a\.command\.json/),
  ])
  fixture[Symbol.dispose]()
})

test('SB34 a command of another container may be running: its record and its mount points stay for a day', async () => {
  const fixture = createToolWorkspace()
  const records = join(fixture.root, 'records')
  mkdirSync(records)
  const [mountPoint, record] = [join(fixture.workspace, '.mcp.json'), join(records, 'a.command.json')]
  const guard = new GitGuard('git')
  const repositories = guard.record({ denyRead: [], allowRead: [], allowWrite: [fixture.workspace], denyWrite: [] })
  const command = {
    workspace: fixture.workspace,
    repositories,
    links: [],
    scope: { allowWrite: [], denyWrite: [] },
    mountPoints: [mountPoint],
  }
  const write = (pidNamespace: Partial<ProcessIdentity>) => {
    const owner = { ...identifyProcess(process.pid), pid: 1, start: 'gone', ...pidNamespace }
    writeFileSync(mountPoint, '')
    writeFileSync(record, JSON.stringify({ ...command, marker: createMarker(), owner }), { mode: 0o600 })
  }
  write({ pidNamespace: 'pid:[1]' })
  expect(recoverCommands(records)).toEqual([])
  expect([existsSync(mountPoint), existsSync(record)]).toEqual([true, true])
  utimesSync(record, 0, 0)
  recoverCommands(records)
  expect(existsSync(record)).toBe(false)
  write({})
  recoverCommands(records)
  expect([existsSync(mountPoint), existsSync(record)], 'control: a process that is dead').toEqual([false, false])
  fixture[Symbol.dispose]()
})

test('SB34 a command that ends by itself leaves neither record nor watchdog', async () => {
  const fixture = createToolWorkspace()
  const records = join(fixture.root, 'records')
  const args = ['--input-type=module', '-e', PROGRAM, fixture.workspace, records, 'true']
  execFileSync(process.execPath, args)
  await vi.waitFor(() => expect(processesWith(records)).toEqual([]), WAIT)
  expect(readdirSync(records)).toEqual([])
  fixture[Symbol.dispose]()
})

test('SB37 after a kill, configuration that the command created is renamed; what was there before stays', () => {
  const fixture = createToolWorkspace()
  const records = join(fixture.root, 'records')
  mkdirSync(records)
  for (const path of ['.vscode/tasks.json', 'sub/.envrc', '.idea/a.xml']) fixture.writeFile(path, 'x')
  const files = { allowWrite: [fixture.workspace], denyWrite: [join(fixture.workspace, '.idea')] }
  const command = {
    workspace: fixture.workspace,
    repositories: new GitGuard('git').record({ denyRead: [], allowRead: [], ...files }),
    links: [],
    scope: files,
    mountPoints: [],
    marker: createMarker(),
    owner: { ...identifyProcess(process.pid), pid: 1, start: 'gone' },
  }
  writeFileSync(join(records, 'a.command.json'), JSON.stringify(command), { mode: 0o600 })
  expect(recoverCommands(records).toSorted()).toEqual([
    expect.stringMatching(/killed during a command.*'\.vscode' would be executed/),
    expect.stringMatching(/killed during a command.*'sub\/\.envrc' would be executed/),
  ])
  const exists = (path: string) => existsSync(join(fixture.workspace, path))
  expect([exists('.vscode'), exists('sub/.envrc'), exists('.idea/a.xml')]).toEqual([false, false, true])
  fixture[Symbol.dispose]()
})
