import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { InstalledPackage } from '../support/installed-package.ts'
import { installPackage } from '../support/installed-package.ts'

/* The package as it is published: bundled, packed, and unpacked into an empty project. */

const LONG = 120_000
const START = fileURLToPath(new URL('../../bench/start-process.mjs', import.meta.url))

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Exports the results of most calls, whose types have to be named in declarations. */
const EXPORTS = `
import { createTroupe, isEvent, readTeamFile } from 'troupe'
import { compareRuns, verifyJournal } from 'troupe/inspect'
import { definePattern } from 'troupe/patterns'
import { createHandler, toNodeListener } from 'troupe/server'
import { scriptedModel } from 'troupe/testing'
const agents = ['architect', 'reviewer'] as const
export const troupe = await createTroupe({ store: 'memory', model: scriptedModel({ rules: [] }) })
export const handle = await troupe.stream('task', { instruction: 'Go.' })
export const { run_id } = handle
export const decision = await troupe.run('collaborate', { task: 'x', agents })
export const build = await troupe.run('build', { request: 'x' } as const)
export const team = await readTeamFile('team.yaml')
export const events = await troupe.events(run_id).all()
export const turns = events.flatMap((event) => (isEvent(event, 'team:turn') ? event : []))
export const messages = events.flatMap((event) => (isEvent(event, 'model:end') ? event.data.message : []))
export const rows = await troupe.runs().all()
export const panels = await troupe.panels(run_id)
export const block = panels.panels[0]?.blocks[0]
export const timeline = await troupe.timeline(run_id)
export const reports = await troupe.reports()
export const needs = await troupe.checkNeeds(run_id)
export const summaries = await troupe.runSummaries([run_id])
export const session = await troupe.exportSession(run_id)
export const stored = await troupe.verify()
export const status = troupe.storeStatus()
export const servers = troupe.mcpServers()
export const same = compareRuns(events, events)
export const problems = verifyJournal(events)
export const pattern = definePattern({
  ...{ name: 'x', version: 1, description: '', category: 'task_management', input: {}, output: {} },
  execute: async (context) => ({ success: true, output: await context.now('a') }),
})
export const handler = createHandler(troupe, { authenticate: async () => null })
export const listener = toNodeListener(handler)
`

const EXPORTED_MODELS = `
import { detectModels, loadPrices } from 'troupe/models'
export const models = detectModels(process.env)
export const prices = await loadPrices()
`

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPackage()
}, LONG)
afterAll(() => rm(installed.folder, { recursive: true, force: true, maxRetries: 5 }))

async function countModules(store: string): Promise<{ create_modules: number; modules: number }> {
  const args = [START, pathToFileURL(installed.file('dist/index.js')).href, store, 'count']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

describe('start of a process', () => {
  test.each(['memory', 'count.db'])('P45 the first run loads few modules with the store %s', async (name) => {
    const { create_modules, modules } = await countModules(name === 'memory' ? name : join(installed.folder, name))
    expect(create_modules).toBeLessThanOrEqual(30)
    expect(modules).toBeLessThanOrEqual(60)
    // Guards against a vacuous test: modules are counted.
    expect(modules).toBeGreaterThan(10)
  })

  test('P45 the workers and the process that watches commands load neither the first run nor zod', async () => {
    const loaded = await installed.program<string[]>(`
      import { registerHooks } from 'node:module'
      const urls = []
      registerHooks({ load(url, context, nextLoad) { urls.push(url); return nextLoad(url, context) } })
      for (const name of ['runtime/node-version', 'tools/sandbox/command-watchdog'])
        await import('./node_modules/troupe/dist/' + name + '.js')
      console.log(JSON.stringify(urls))`)
    const names = loaded.map((url) => url.split('/dist/')[1])
    expect(names).toContain('tools/sandbox/command-watchdog.js')
    for (const chunk of ['create', 'first-run', 'patterns', 'zod']) expect(names).not.toContain(`chunks/${chunk}.js`)
    const worker = await readFile(installed.file('dist/knowledge/embedding-worker.js'), 'utf8')
    expect(worker).not.toMatch(/chunks\/(?:index|create|first-run|patterns|zod)\.js/)
  })
})

describe('in an empty project', () => {
  test('P46 all entry points work, with the same classes, the built-in agents and the prices', async () => {
    const report = await installed.program<{ agents: string[] }>(`
      import { createTroupe, TroupeError } from 'troupe'
      import { compareRuns } from 'troupe/inspect'
      import { loadPrices } from 'troupe/models'
      import { definePattern } from 'troupe/patterns'
      import { createHandler } from 'troupe/server'
      import { loadScript, scriptedModel } from 'troupe/testing'
      const model = scriptedModel({ rules: [{ reply: { text: 'Packed.' } }] })
      const troupe = await createTroupe({ store: 'memory', model })
      const { output, usage } = await troupe.run('task', { instruction: 'hi' })
      const usd = (await loadPrices()).cost('anthropic/claude-haiku-4-5', { ...usage, reasoning: 0, input: 1_000_000 }, Date.now())
      const error = await loadScript('no-such-file.json').catch((thrown) => thrown)
      const agents = troupe.agents.map(({ name }) => name)
      const refused = [() => definePattern({ name: '?' }), () => createHandler(troupe, {})].filter((call) => {
        try { call(); return false } catch (thrown) { return thrown instanceof TroupeError }
      }).length
      await troupe.close()
      console.log(JSON.stringify({ response: output.response, agents, isPriced: usd > 0, isOwnError: error instanceof TroupeError, refused, same: typeof compareRuns }))`)
    expect(report).toMatchObject({ response: 'Packed.', isPriced: true, isOwnError: true, refused: 2 })
    expect(report.agents).toContain('architect')
  })

  test('TY4 a program can emit declarations of what it exports, and compiles without `skipLibCheck`', async () => {
    await mkdir(join(installed.folder, 'node_modules/@types'), { recursive: true })
    await symlink(join(MODULES, '@types/node'), join(installed.folder, 'node_modules/@types/node'))
    await writeFile(join(installed.folder, 'exports.mts'), EXPORTS)
    await writeFile(join(installed.folder, 'models.mts'), EXPORTED_MODELS)
    const compilerOptions = {
      ...{ target: 'es2024', lib: ['es2024', 'esnext.disposable'], module: 'nodenext', types: ['node'] },
      ...{ strict: true, declaration: true, emitDeclarationOnly: true, outDir: 'declarations' },
    }
    const compile = async (files: string[], options: object) => {
      const config = { compilerOptions: { ...compilerOptions, ...options }, files }
      await writeFile(join(installed.folder, 'tsconfig.json'), JSON.stringify(config))
      const tsc = join(MODULES, 'typescript/bin/tsc')
      return promisify(execFile)(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], { cwd: installed.folder })
        .then(() => '')
        .catch(({ stdout }: { stdout: string }) => stdout)
    }
    expect(await compile(['exports.mts'], { skipLibCheck: false })).toBe('')
    expect(await compile(['exports.mts', 'models.mts'], { skipLibCheck: true })).toBe('')
    expect(await readFile(join(installed.folder, 'declarations/exports.d.mts'), 'utf8')).toContain(
      'decision: import("troupe").SettledRun<import("troupe").CollaborateOutput>',
    )
    // Guards against a vacuous test: an error of the program is found.
    await writeFile(join(installed.folder, 'models.mts'), `import { takeChanges } from 'troupe'\nvoid takeChanges`)
    expect(await compile(['models.mts'], { skipLibCheck: true })).toContain("no exported member 'takeChanges'")
  })

  test(
    'P46 the thread of the embedding model starts',
    async () => {
      const report = await installed.program<{ threads: string[]; errors: string[] }>(`
        const threads = []
        const errors = []
        process.on('worker', (worker) => {
          threads.push(worker.threadName)
          worker.on('error', ({ message }) => errors.push(message))
        })
        const { createTroupe } = await import('troupe')
        const texts = ['Offer the customer a refund', 'Give people their money back', 'Ask legal about the details']
        let next = 0
        async function* stream() {
          const recommendation = texts[next++ % texts.length]
          const answer = { response: recommendation, recommendation, confidence: 0.9, concerns: [], questions: [] }
          yield { type: 'text', text: JSON.stringify(answer) }
          yield { type: 'finish', stop: 'end', usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 } }
        }
        const troupe = await createTroupe({ store: 'threads.db', model: { name: 'double', stream } })
        const agents = ['a', 'b', 'c'].map((name) => ({ name, role: 'voter' }))
        const { error } = await troupe.run('collaborate', { task: 'Decide.', agents, synthesis: 'vote' })
        await troupe.close()
        console.log(JSON.stringify({ threads, errors, error }))`)
      expect(report).toEqual({ threads: ['troupe-embedder'], errors: [], error: null })
    },
    LONG,
  )

  test('P32 a program that imports the package can be bundled into one file', async () => {
    const entry = join(installed.folder, 'entry.mjs')
    await writeFile(
      entry,
      `import { createTroupe } from 'troupe'
import { loadPrices } from 'troupe/models'
      import { scriptedModel } from 'troupe/testing'
      const model = scriptedModel({ rules: [{ reply: { text: 'Bundled.' } }] })
      const troupe = await createTroupe({ store: 'bundled.db', model })
      const { output } = await troupe.run('task', { instruction: 'hi' })
      await loadPrices()
      await troupe.close()
      console.log(JSON.stringify(output.agent + ': ' + output.response))`,
    )
    const build = await rolldown({ input: entry, platform: 'node', onLog: () => {} })
    const { output } = await build.generate({ format: 'esm', codeSplitting: false })
    expect(await installed.program(output[0].code)).toBe('default: Bundled.')
  })

  test('P32 a bundle without the files of the viewer names the option that leaves the package out', async () => {
    const entry = join(installed.folder, 'server.mjs')
    await writeFile(
      entry,
      `import { createTroupe } from 'troupe'
      import { createHandler } from 'troupe/server'
      const troupe = await createTroupe({ store: 'memory' })
      const authenticate = () => ({ name: 'ada', scopes: ['read'] })
      const { status } = await createHandler(troupe, { authenticate })(new Request('http://127.0.0.1/api/session'))
      let problem
      try { createHandler(troupe, { authenticate, page: true }) } catch ({ message, hint }) { problem = message + ': ' + hint }
      await troupe.close()
      console.log(JSON.stringify({ status, problem }))`,
    )
    expect(await installed.program(await readFile(entry, 'utf8'))).toEqual({ status: 200 })
    const build = await rolldown({ input: entry, platform: 'node', onLog: () => {} })
    const { output } = await build.generate({ format: 'esm', codeSplitting: false })
    const bundled = await installed.program<{ status: number; problem: string }>(output[0].code)
    expect(bundled).toEqual({ status: 200, problem: expect.stringContaining('serverExternalPackages') })
  })

  test('P32 bundlers are told to leave alone what only the running program can find', async () => {
    const folder = installed.file('dist')
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(
      names.filter((name) => !name.startsWith('web')).map((name) => readFile(join(folder, name), 'utf8')),
    )
    const imports = texts.flatMap((text) => text.match(/(?<!["'`\w.])import\((?:\s|\/\*.*?\*\/)*./gs) ?? [])
    const computed = imports.filter((text) => !/["'`]$/.test(text))
    expect(computed.length).toBeGreaterThan(2)
    for (const text of computed) expect(text).toMatch(/webpackIgnore: true.*turbopackIgnore: true.*@vite-ignore/s)
  })

  test('P46 the process that watches sandboxed commands starts', async () => {
    const report = await installed.program(`
      const { CommandWatchdog } = await import('./node_modules/troupe/dist/tools/sandbox/command-watchdog.js')
      const watchdog = new CommandWatchdog(process.cwd(), process.env.PATH)
      await watchdog.start()
      console.log(JSON.stringify({ isRunning: watchdog.child?.exitCode === null }))
      watchdog.close()`)
    expect(report).toEqual({ isRunning: true })
  })

  test('P46 the command runs the demo, and a task with the tools of a configuration file that imports the package', async () => {
    expect(await installed.troupe('--version')).toBe('0.1.0\n')
    expect(await installed.troupe('demo')).toContain('SQLite')
    const rules = [
      { when: { turn: 1 }, reply: { toolCalls: [{ name: 'measure', input: {} }] } },
      { reply: { text: 'Measured.' } },
    ]
    await writeFile(join(installed.folder, 'script.json'), JSON.stringify({ rules }))
    const config = `
      import { appendFileSync } from 'node:fs'
      import { defineConfig, defineTool } from 'troupe'
      const measure = defineTool({
        name: 'measure', description: 'Measures.', kind: 'read', category: 'perception', input: { type: 'object' },
        execute: async () => { appendFileSync('measured', 'once'); return { success: true, output: 'done' } },
      })
      export default defineConfig({ model: 'scripted:script.json', tools: [measure] })`
    await writeFile(join(installed.folder, 'troupe.config.ts'), config)
    const out = await installed.troupe(
      'run',
      'task',
      '--trust-project',
      '--no-tools',
      '--agent',
      'default',
      'measure it',
    )
    expect(out).toContain('Measured.')
    expect(await readFile(join(installed.folder, 'measured'), 'utf8')).toBe('once')
  })

  test('A18 the program and the handler that `init` writes run as they are', async () => {
    const site = join(installed.folder, 'site')
    await mkdir(join(site, 'app'), { recursive: true })
    await writeFile(join(site, 'package.json'), '{"type":"commonjs","dependencies":{"next":"16.4.6"}}')
    await writeFile(join(site, 'script.json'), '{"rules":[{"reply":{"text":"Tom."}}]}')
    const env = { ...installed.env, TROUPE_MODEL: 'scripted:script.json' }
    const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: site, env })
    await node(installed.file('dist/surfaces/cli/main.js'), 'init')
    expect(await node('ask.mts', 'What is a good name for a cat?')).toEqual({ stdout: 'Tom.\n', stderr: '' })
    // Next.js bundles the route, whatever the type of the package.
    await writeFile(join(site, 'package.json'), '{"type":"module"}')
    const request = `const { GET, OPTIONS } = await import('./app/agents/[[...path]]/route.ts')
      console.log((await GET(new Request('http://localhost/agents/api/runs'))).status, OPTIONS === GET)
      process.exit()`
    expect((await node('--input-type=module', '-e', request)).stdout).toBe('401 true\n')
  })

  test('P46 the command serves the page', async () => {
    const { folder, env, file } = installed
    const args = [file('dist/surfaces/cli/main.js'), 'serve', '--port', '0', '--json', '--no-tools', '--trust-project']
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [chunk] = await once(child.stdout, 'data')
    const { address, token } = JSON.parse(String(chunk)) as { address: string; token: string }
    const get = (path: string) => fetch(new URL(path, address), { headers: { authorization: `Bearer ${token}` } })
    expect(await (await get('/')).text()).toContain('app.js')
    for (const path of ['/app.js', '/app.css']) expect((await get(path)).status).toBe(200)
    expect((await get('/api/runs')).status).toBe(200)
  })
})
