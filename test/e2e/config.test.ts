import { spawn } from 'node:child_process'
import { chown, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { recordTrust } from '../../src/formats/folder-trust.ts'
import { hashAgentFiles } from '../../src/formats/project-trust.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { openTerminal, typeLine } from './terminal.ts'

/* A project with `troupe.config.*`, a program and the command line, in real processes. */

const INDEX = fileURLToPath(new URL('../../src/index.ts', import.meta.url))

/** A tool that needs approval, a hook that forbids another one, and a scripted model. */
const CONFIG = `
import { defineConfig, defineTool } from 'troupe'
import { record } from './ledger.ts'
const tool = (name: string) => defineTool({
  name, description: name, kind: 'act', category: 'action', input: { type: 'object' },
  execute: async () => { record(name); return { success: true, output: name } },
})
record('loaded')
export default defineConfig({
  model: 'scripted:script.json',
  tools: [tool('pay'), tool('erase')],
  permissions: { ask: ['pay'], allow: ['erase'] },
  hooks: [{ beforeTool: ({ tool }) => (tool === 'erase' ? { deny: 'never' } : undefined) }],
})
`
const LEDGER = `
import { appendFileSync } from 'node:fs'
export const record = (text: string): void => appendFileSync(new URL('ledger', import.meta.url), text + '\\n')
`
const RULES = [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'pay', input: {} }] } },
  { when: { turn: 2 }, reply: { toolCalls: [{ name: 'erase', input: {} }] } },
  { reply: { text: 'Settled.' } },
]
const PROGRAM = `
import { createTroupe } from ${JSON.stringify(INDEX)}
await using troupe = await createTroupe()
const { result } = await troupe.stream('task', { agent: 'default', instruction: 'pay' })
const { status, gates } = await result
console.log(JSON.stringify({ status, gate: gates[0]?.gate_id, agents: troupe.agents.map(({ name }) => name) }))
`

interface Project extends CliFixture {
  env: NodeJS.ProcessEnv
  /** Runs a command without a terminal. */
  command(...argv: string[]): ReturnType<CliFixture['troupe']>
  program(file: string, cwd?: string): Promise<{ out: string; err: string }>
  ledger(): Promise<string[]>
}

async function createProject(files: Readonly<Record<string, string>>): Promise<Project> {
  const cli = await createCliFixture()
  const env = { HOME: join(cli.folder, 'home') }
  await mkdir(env.HOME)
  await cli.script('script.json', RULES)
  for (const [name, text] of Object.entries(files)) await cli.write(name, text)
  return {
    ...cli,
    env,
    command: (...argv) => cli.troupeWith({ env }, ...argv),
    program: (file, cwd = cli.folder) => runProgram(file, { cwd, env: { ...process.env, ...env } }),
    ledger: async () => (await cli.read('ledger').catch(() => '')).split('\n').filter((line) => line !== ''),
  }
}

function runProgram(file: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(process.execPath, [file], options)
  const output = { out: '', err: '' }
  child.stdout.on('data', (text: Buffer) => (output.out += text))
  child.stderr.on('data', (text: Buffer) => (output.err += text))
  return new Promise<typeof output>((resolve) => child.on('close', () => resolve(output)))
}

const FILES = { 'troupe.config.ts': CONFIG, 'ledger.ts': LEDGER, 'main.ts': PROGRAM }

test('CF11 a program parks a run; the command line answers and continues it with the tools and hooks of the file', async () => {
  const project = await createProject(FILES)
  const { out, err } = await project.program(join(project.folder, 'main.ts'))
  expect(err).toBe('')
  const { status, gate } = JSON.parse(out) as { status: string; gate: string }
  expect(status).toBe('waiting')
  const answered = await project.command('answer', gate, 'allow', '--trust-project')
  expect([answered.code, answered.out]).toEqual([0, 'Settled.\n'])
  // Loaded once by each process; `pay` made once, `erase` prevented by the hook.
  expect(await project.ledger()).toEqual(['loaded', 'loaded', 'pay'])
})

test('U6 L8 a tool that returns a value without `success` has succeeded with that value, and `show` prints it so', async () => {
  const config = CONFIG.replace('return { success: true, output: name }', "return 'paid' as never").replace(
    "'pay'],",
    '],',
  )
  const project = await createProject({ ...FILES, 'troupe.config.ts': config })
  const run = await project.command('run', 'task', 'pay', '--trust-project', '--allow', 'pay')
  expect(run.code).toBe(0)
  const { out } = await project.command('show', '--trust-project')
  expect(out).toMatch(/✓ pay/)
  expect(out).not.toContain('tool_failed')
})

const WORKER = `
import { createTroupe } from ${JSON.stringify(INDEX)}
await using troupe = await createTroupe()
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
console.log('working')
await troupe.work({ signal: stop.signal })
console.log('stopped')
`

test('WK1 WK2 a program that works continues what the command line answers, and ends with its signal', async () => {
  const project = await createProject({ ...FILES, 'worker.ts': WORKER })
  const { gate } = JSON.parse((await project.program(join(project.folder, 'main.ts'))).out) as { gate: string }
  const startWorker = async () => {
    const env = { ...process.env, ...project.env }
    const child = spawn(process.execPath, ['worker.ts'], { cwd: project.folder, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const output = { text: '' }
    child.stdout.on('data', (text: Buffer) => (output.text += text))
    await expect.poll(() => output.text).toContain('working')
    return { child, output, closed: new Promise((resolve) => child.on('close', resolve)) }
  }
  const { child, output, closed } = await startWorker()
  const answered = await project.command('answer', gate, 'allow', '--no-wait', '--trust-project')
  expect(answered.code).toBe(0)
  const status = async () => (await project.command('runs', '--json', '--trust-project')).out
  await expect.poll(status, { interval: 200 }).toContain('"completed"')
  child.kill('SIGTERM')
  await closed
  expect(output.text).toContain('stopped')
  expect((await project.ledger()).filter((line) => line !== 'loaded')).toEqual(['pay'])
})

test('FT1 without a terminal, an untrusted file is not executed: runs are refused, and reading goes on without it', async () => {
  const project = await createProject(FILES)
  for (const argv of [
    ['run', 'task', 'pay', '--agent', 'default'],
    ['resume', 'r_1'],
    ['answer', 'g_1', 'allow'],
    ['chat', '--agent', 'default'],
  ]) {
    const refused = await project.command(...argv)
    expect([argv[0], refused.code, refused.err.replaceAll(/\s+/g, ' ')]).toEqual([
      argv[0],
      2,
      expect.stringMatching(/error: troupe\.config\.ts is not trusted.*--trust-project/),
    ])
  }
  const answer = await project.command('answer', 'g_1', 'allow')
  expect(answer.err.replaceAll(/\s+/g, ' ')).toContain('The answer is not stored; --no-wait only stores it.')
  const read = await project.command('runs')
  expect([read.code, read.err]).toEqual([0, expect.stringContaining('troupe.config.ts is not trusted')])
  const help = await project.command('run', '--help')
  expect([help.code, help.err]).toEqual([0, ''])
  expect(await project.ledger()).toEqual([])
  await expect(stat(join(project.folder, '.troupe'))).rejects.toThrow('ENOENT')
})

test('FT4 `--trust-project` holds for one command, records nothing, and is repeated in hints', async () => {
  const project = await createProject(FILES)
  const run = ['run', 'task', 'pay', '--agent', 'default']
  const started = await project.command(...run, '--trust-project')
  expect([started.code, started.err]).toEqual([3, expect.stringContaining('troupe --trust-project answer g_')])
  expect((await project.command(...run)).code).toBe(2)
  await expect(stat(join(project.env.HOME ?? '', '.config/troupe/trust'))).rejects.toThrow('ENOENT')
})

/** At the end of the screen: an answered question of the command before may still be there. */
const QUESTION = /Trust it\? \[y\/N\]\s*$/

test('FT2 FT3 on a terminal the command asks once, and again after a file it imports has changed', async () => {
  const project = await createProject(FILES)
  const terminal = await openTerminal(project, project.env, 100)
  const run = './troupe run task pay --agent default -q; echo exit $?'
  await typeLine(terminal, run)
  const question = await terminal.waitFor(QUESTION)
  expect(question.join('\n')).toMatch(/that you have not used before:\n {2}troupe\.config\.ts\n {2}ledger\.ts\n/)
  await typeLine(terminal, 'n')
  await terminal.waitFor(/troupe\.config\.ts is not trusted(.|\n)*exit 2/)
  expect(await project.ledger()).toEqual([])
  await typeLine(terminal, `clear; ${run}`)
  await terminal.waitFor(QUESTION)
  await typeLine(terminal, 'y')
  await terminal.waitFor(/exit 3/)
  const record = join(project.env.HOME ?? '', '.config/troupe/trust')
  expect((await stat(record)).mode & 0o777).toBe(0o600)
  const { folders } = JSON.parse(await readFile(record, 'utf8')) as { folders: Record<string, object> }
  expect(Object.values(folders).map((files) => Object.keys(files))).toEqual([['troupe.config.ts', 'ledger.ts']])
  const again = await project.command('run', 'task', 'pay', '--agent', 'default')
  expect(again.code).toBe(3)
  await writeFile(join(project.folder, 'ledger.ts'), `${LEDGER}// changed\n`)
  const refused = await project.command('run', 'task', 'pay', '--agent', 'default')
  expect([refused.code, refused.err.replaceAll(/\s+/g, ' ')]).toEqual([
    2,
    expect.stringContaining('no longer trusted: changed since are ledger.ts'),
  ])
  await typeLine(terminal, `clear; ${run}`)
  const changed = await terminal.waitFor(QUESTION)
  expect(changed.join('\n')).toMatch(/has changed since you trusted it:\n {2}changed {2}ledger\.ts\n/)
})

test('FT5 an agent cannot change the file nor what it imports, and cannot create one', async () => {
  const write = (name: string) => ({ name: 'Write', input: { file_path: name, content: 'stolen' } })
  const project = await createProject({ ...FILES, 'sub/x': '' })
  const user = ['home/.config/troupe/trust', 'home/.config/troupe/config.js']
  const toolCalls = ['troupe.config.ts', 'ledger.ts', 'sub/troupe.config.json', 'notes.txt', ...user].map(write)
  await project.script('script.json', [{ when: { turn: 1 }, reply: { toolCalls } }, { reply: { text: 'Tried.' } }])
  const argv = ['run', 'task', 'write', '--agent', 'default', '--trust-project', '--allow', 'Write']
  expect((await project.command(...argv)).code).toBe(0)
  expect(await project.read('troupe.config.ts')).toBe(CONFIG)
  expect(await project.read('ledger.ts')).toBe(LEDGER)
  expect(await project.read('notes.txt')).toBe('stolen')
  for (const name of ['sub/troupe.config.json', ...user])
    await expect(stat(join(project.folder, name))).rejects.toThrow('ENOENT')
})

test('A18 CF14 the configuration that `troupe init` writes is valid and trusted, also in a package as `npm init` makes it', async () => {
  const project = await createProject({ 'package.json': '{"type": "commonjs"}' })
  expect((await project.command('init')).code).toBe(0)
  const run = ['run', 'task', 'pay', '--agent', 'explorer', '--model', 'scripted:script.json', '--no-tools']
  const { code, err } = await project.command(...run)
  expect([code, err]).toEqual([0, expect.not.stringContaining('trust')])
  expect(err).not.toContain('warning')
  expect(await project.command('runs')).toMatchObject({ code: 0, err: '' })
})

test('CF3 a program outside the folder does not execute its file, and warns', async () => {
  const project = await createProject({ 'repo/troupe.config.ts': 'throw new Error("executed")', 'main.ts': PROGRAM })
  const { out, err } = await project.program(join(project.folder, 'main.ts'), join(project.folder, 'repo'))
  expect(err.replaceAll(/\s+/g, ' ')).toMatch(/repo\/troupe\.config\.ts is not read, because this program is not in/)
  expect(err).not.toContain('executed')
  expect(out).toContain('"status":"failed"')
})

test("FT11 a program outside the folder uses its file with `trust: 'project'`, and nothing of it with 'nothing'", async () => {
  const program = (trust: string) => PROGRAM.replace('createTroupe()', `createTroupe({ trust: '${trust}' })`)
  const files = { 'repo/troupe.config.ts': 'throw new Error("executed")', 'main.ts': program('project') }
  const project = await createProject({ ...files, 'other.ts': program('nothing') })
  const run = (file: string) => project.program(join(project.folder, file), join(project.folder, 'repo'))
  expect((await run('main.ts')).err).toContain('executed')
  const { err } = await run('other.ts')
  expect(err).not.toMatch(/executed|is not read/)
})

test("FT11 with `trust: 'project'` a program uses the agent files of the working folder, also without a configuration", async () => {
  const agents = (options: string) => PROGRAM.replace('createTroupe()', `createTroupe(${options})`)
  const project = await createProject({
    'repo/.claude/agents/planted.md': '---\nname: planted\ndescription: Planted.\n---\n\nBe planted.\n',
    'main.ts': agents("{ trust: 'project' }"),
    'other.ts': agents('{}'),
    'recorded.ts': agents("{ trust: 'recorded' }"),
  })
  const repo = join(project.folder, 'repo')
  const run = async (file: string) => (await project.program(join(project.folder, file), repo)).out
  expect(await run('main.ts')).toContain('"planted"')
  expect(await run('other.ts')).not.toContain('"planted"')
  expect(await run('recorded.ts')).not.toContain('"planted"')
  await recordTrust(join(project.env.HOME ?? '', '.config/troupe/trust'), repo, await hashAgentFiles(repo))
  expect(await run('recorded.ts')).toContain('"planted"')
})

// Only root may give a file to another user.
test.skipIf(process.getuid?.() !== 0)(
  'CF3 a file of another user above the program is not executed',
  async () => {
    const config = 'throw new Error("executed")'
    const project = await createProject({ 'troupe.config.ts': config, '.git/HEAD': '', 'own/main.ts': PROGRAM })
    await chown(join(project.folder, 'troupe.config.ts'), 12_345, 12_345)
    const { err } = await project.program(join(project.folder, 'own/main.ts'), join(project.folder, 'own'))
    expect(err.replaceAll(/\s+/g, ' ')).toContain('troupe.config.ts is not read, because it belongs to another user')
    expect(err).not.toContain('executed')
    await chown(join(project.folder, 'own/main.ts'), 12_345, 12_345)
    const own = await project.program(join(project.folder, 'own/main.ts'), join(project.folder, 'own'))
    expect(own.err, 'the owner of the program may configure it').toContain('executed')
  },
  60_000,
)

test.each([
  ['a type error of Node', 'enum A { B }\nexport default {}', /troupe\.config\.ts(:1)?.*enum/, 'strips types'],
  ['a syntax error', 'export default {\n  model: ,\n}', /troupe\.config\.ts:2/, ''],
  ['a thrown error', '\n\nthrow new Error("no key")', /troupe\.config\.ts:3:\d+: no key/, ''],
  ['a missing package', "import 'not-installed'\nexport default {}", /Cannot find package 'not-installed'/, 'install'],
  ['no default export', 'export const config = {}', /default export is no object/, 'export default defineConfig'],
  ['an unknown key', 'export default { tols: [] }', /troupe\.config\.ts: unknown key 'tols'/, "mean 'tools'"],
])(
  'CF6 %s in the file is reported with its place',
  async (_name, text, problem, hint) => {
    const project = await createProject({ 'troupe.config.ts': text })
    const { code, err } = await project.command('runs', '--trust-project')
    expect(code).toBe(2)
    expect(err.replaceAll(/\s*\n\s*/g, ' ')).toMatch(problem)
    expect(err.replaceAll(/\s+/g, ' ')).toContain(hint)
  },
  60_000,
)

test('CF8 CF14 a YAML file names the modules of tools and hooks; they and the file are trusted together', async () => {
  const module = CONFIG.replace(
    'export default defineConfig(',
    'export const { tools: [pay, erase], hooks: [guard] } = (',
  )
  const yaml =
    'model: scripted:script.json\ntools: [./parts.ts]\nhooks: [./parts.ts]\npermissions:\n  ask: [pay]\n  allow: [erase]\n'
  const files = { 'troupe.config.yaml': yaml, 'parts.ts': module, 'ledger.ts': LEDGER }
  const project = await createProject({ ...files, 'package.json': '{"type": "commonjs"}' })
  const started = await project.command('run', 'task', 'pay', '--agent', 'default', '--trust-project', '--json')
  expect(started.code).toBe(3)
  const { gates } = JSON.parse(started.out) as { gates: { gate_id: string }[] }
  const answered = await project.command('answer', gates[0]?.gate_id ?? '', 'allow', '--trust-project')
  expect([answered.code, answered.out]).toEqual([0, 'Settled.\n'])
  expect(await project.ledger()).toEqual(['loaded', 'loaded', 'pay'])
  await project.write('troupe.config.yaml', 'patterns: [./parts.ts]\n')
  const wrong = await project.command('runs', '--trust-project')
  expect([wrong.code, wrong.err.replaceAll(/\s+/g, ' ')]).toEqual([
    2,
    expect.stringContaining('./parts.ts exports no patterns'),
  ])
})

test('CF7 the user’s file is overridden by that of the project, and that by flags', async () => {
  const project = await createProject({
    'home/.config/troupe/config.json': JSON.stringify({
      store: '/nowhere',
      limits: { calls: 1 },
      permissions: { deny: ['pay'] },
    }),
    'troupe.config.json': JSON.stringify({ store: 'data', model: 'scripted:script.json', limits: { calls: 7 } }),
  })
  const run = ['run', 'task', 'pay', '--agent', 'default', '--trust-project']
  expect((await project.command(...run, '--tag', 'project')).code).toBe(0)
  expect((await project.command(...run, '--limit', 'calls=2')).code).toBe(1)
  const shown = await project.command('runs', '--json', '--store', 'data')
  expect(shown.out).toContain('project')
})

test('CF13 `doctor` says which file is used, whether it is trusted and what is wrong with it', async () => {
  const project = await createProject({ 'ledger.ts': LEDGER })
  const configLines = async (...argv: string[]) => {
    const { out } = await project.command('doctor', '--json', ...argv)
    const { checks } = JSON.parse(out) as { checks: { name: string; status: string; message: string }[] }
    return checks.filter(({ name }) => name === 'config').map(({ status, message }) => `${status}: ${message}`)
  }
  expect(await configLines()).toEqual(['ok: no troupe.config file; troupe init writes one'])
  await project.write('troupe.config.ts', CONFIG)
  expect(await configLines()).toEqual(['warning: troupe.config.ts is not trusted; it is not used'])
  expect(await project.ledger()).toEqual([])
  expect(await configLines('--trust-project')).toEqual(['ok: troupe.config.ts, used because of --trust-project'])
  await project.write('troupe.config.ts', 'export default { modle: 1 }')
  expect(await configLines('--trust-project')).toEqual([expect.stringMatching(/^error: .*unknown key 'modle'/)])
})

test('FT7 with an empty HOME, files of the project do not pass for those of the user', async () => {
  const project = await createProject({
    ...FILES,
    '.config/troupe/config.ts': "import '../../ledger.ts'\nexport default { modle: 1 }",
  })
  const read = await project.troupeWith({ env: { HOME: '' } }, 'runs')
  expect([read.code, read.err]).toEqual([0, expect.stringContaining('troupe.config.ts is not trusted')])
  expect(await project.ledger()).toEqual([])
})

test('FT6 `init` replaces no record of trust that cannot be used, and writes no file', async () => {
  const project = await createProject({ 'home/.config/troupe/trust': '{"folders":{' })
  const refused = await project.command('init')
  const err = refused.err.replaceAll(/\s+/g, ' ')
  expect([refused.code, err]).toEqual([2, expect.stringMatching(/trust is not used: .*delete it/)])
  expect(await readFile(join(project.env.HOME ?? '', '.config/troupe/trust'), 'utf8')).toBe('{"folders":{')
  await expect(stat(join(project.folder, 'troupe.config.ts'))).rejects.toThrow('ENOENT')
})

test('FT7 when the record of trust cannot be written, `init` says so and goes on', async () => {
  const project = await createProject({ 'home/.config': 'no folder' })
  const written = await project.command('init')
  expect([written.code, written.err.replaceAll(/\s+/g, ' ')]).toEqual([0, expect.stringContaining('asks again')])
})
