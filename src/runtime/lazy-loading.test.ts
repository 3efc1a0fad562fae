import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { Pattern } from '../kernel/pattern.ts'
import { BUILT_IN_PATTERNS, loadBuiltInPatterns, OFFERS } from './built-in-patterns.ts'

const ENTRY = new URL('../index.ts', import.meta.url).href

const PARTS = [
  'node_modules/zod/',
  'node_modules/yaml/',
  'src/patterns/',
  'src/engine/embedded-engine',
  'src/patterns/collaborate/run-',
  'src/patterns/team/run-',
]

/** Runs the statements in a fresh process; returns the folders and packages of interest that were loaded by then. */
async function loadedAfter(statements: string, parts: readonly string[] = PARTS): Promise<string[]> {
  const program = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load(url, context, nextLoad) { urls.push(url); return nextLoad(url, context) } })
    const { createTroupe } = await import(${JSON.stringify(ENTRY)})
    async function* stream() {
      yield { type: 'text', text: 'Here.' }
      yield { type: 'finish', stop: 'end', usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 } }
    }
    const options = { store: 'memory', model: { name: 'double', stream } }
    ${statements}
    console.log(JSON.stringify(${JSON.stringify(parts)}.filter((part) => urls.some((url) => url.includes(part)))))`
  const args = ['--input-type=module', '--eval', program]
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
  return JSON.parse(stdout)
}

test('a troupe that only reads loads neither schemas nor patterns nor the engine', async () => {
  const reading = `const troupe = await createTroupe(options)
    await troupe.runs().all()
    await troupe.result('r_none').catch(() => {})
    await troupe.close()`
  expect(await loadedAfter(reading)).toEqual([])
})

test('a configuration in JSON loads the schemas that check it, and no parser of YAML', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-lazy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'troupe.config.json')
  await writeFile(config, '{ "limits": { "usd": 5 } }')
  const reading = `const troupe = await createTroupe({ ...options, config: ${JSON.stringify(config)} })
    await troupe.runs().all()
    await troupe.close()`
  expect(await loadedAfter(reading)).toEqual(['node_modules/zod/'])
})

test('the first run loads the engine and the definitions of patterns, and the code of no other pattern', async () => {
  const running = `const troupe = await createTroupe(options)
    const { status } = await troupe.run('task', { agent: 'architect', instruction: 'Go.' })
    if (status !== 'completed') throw new Error(status)
    await troupe.close()`
  expect(await loadedAfter(running)).toEqual(['node_modules/zod/', 'src/patterns/', 'src/engine/embedded-engine'])
})

test('definitions of patterns are imported with the first run, or the first session that has one as a tool', async () => {
  const parts = ['src/patterns/task/', 'src/patterns/plan-mode/', 'src/patterns/team/', 'src/patterns/build/']
  const running = (tools: string, pattern: string, input: string, given = tools) => `const seen = []
    async function* record(request) {
      seen.push(...request.tools.filter(({ description, input }) => description && input.properties).map(({ name }) => name))
      yield* stream()
    }
    const a = { name: 'a', description: '', instructions: '', tools: ${tools} }
    const troupe = await createTroupe({ ...options, model: { name: 'double', stream: record }, agents: [a] })
    const { status, error } = await troupe.run('${pattern}', ${input})
    if (status !== 'completed' || seen.slice(-2).join() !== ${given}.join()) throw new Error(error?.message ?? seen.join())
    await troupe.close()`
  const task = "{ agent: 'a', instruction: 'Go.' }"
  expect(await loadedAfter(running('[]', 'task', task), parts)).toEqual(['src/patterns/task/'])
  const planning = running("['EnterPlanMode', 'ExitPlanMode']", 'task', task)
  expect(await loadedAfter(planning, parts)).toEqual(['src/patterns/task/', 'src/patterns/plan-mode/'])
  const team = "{ message: 'Go.', team: { name: 't', agents: [{ name: 'a' }], after_work_behavior: 'terminate' } }"
  expect(await loadedAfter(running('[]', 'team', team, "['ArtifactRead', 'ArtifactWrite']"), parts)).toEqual([
    'src/patterns/task/',
    'src/patterns/team/',
  ])
})

test('who has the tool of a pattern is known before its definition is imported', async () => {
  const names = Object.keys(OFFERS) as (keyof typeof OFFERS)[]
  expect(names).not.toEqual([])
  for (const name of names) {
    const definition: Pattern = await BUILT_IN_PATTERNS[name]()
    const { only, on_request, delegation, aliases, agents, isUseful, tool, settings_of, limits, projection } =
      definition
    const known = { only, on_request, delegation }
    expect({ ...known, aliases, agents, isUseful, tool, settings_of, limits, projection }).toEqual({ ...OFFERS[name] })
  }
})

test.each([
  ['tools', "tools: [{ name: 'task', description: '', kind: 'read', category: 'action', input: {}, execute() {} }]"],
  ['permissions', "permissions: { allow: ['task('] }"],
  ['limits', 'limits: { calls: -1 }'],
  ['options of a built-in pattern', 'collaborate: { max_agents: -1 }'],
])('invalid %s are still rejected by createTroupe', async (_name, option) => {
  const creating = `const code = await createTroupe({ ...options, ${option} }).then(() => 'created', (error) => error.code)
    if (code !== 'invalid_input') throw new Error(code)`
  expect(await loadedAfter(creating)).toContain('node_modules/zod/')
})

test('a run that is started and not awaited is stored before the troupe is closed', async () => {
  const closing = `const { mkdtempSync } = await import('node:fs')
    const store = mkdtempSync((await import('node:os')).tmpdir() + '/troupe-lazy-')
    const troupe = await createTroupe({ ...options, store })
    const result = troupe.run('task', { agent: 'architect', instruction: 'Go.' }).catch((error) => error.result)
    await troupe.close()
    const { status, run_id } = await result
    const reader = await createTroupe({ ...options, store })
    const stored = await reader.result(run_id)
    if (stored.status !== status || status === 'failed') throw new Error(status + ' ' + stored.status)
    await reader.close()`
  expect(await loadedAfter(closing)).toContain('src/engine/embedded-engine')
})

test('with `engine`, everything is loaded before the first run', async () => {
  const loaded = await loadedAfter('await createTroupe({ ...options, engine: { concurrency: 1 } })')
  expect(loaded).toHaveLength(5)
})

test('built-in patterns are registered under their names', async () => {
  expect((await loadBuiltInPatterns()).map(({ name }) => name)).toEqual(Object.keys(BUILT_IN_PATTERNS))
})
