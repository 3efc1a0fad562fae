import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Model, ModelRequest } from '../../src/entries/models.ts'
import type { ModelReply } from './test-troupe.ts'
import { functionModel } from './test-troupe.ts'

/** A small TypeScript project: three functions that are not written yet, each with a failing test, and one that works. */
const FILES: Record<string, string> = {
  'package.json': JSON.stringify({
    name: 'sample',
    version: '1.0.0',
    type: 'module',
    private: true,
    scripts: { test: `"${process.execPath}" --test` },
  }),
  '.gitignore': 'node_modules\n',
  'src/greet.ts': "export function greet(name: string): string {\n  return 'Hello, ' + name + '!'\n}\n",
  'src/slug.ts': "export function slug(_text: string): string {\n  throw new Error('not written')\n}\n",
  'src/total.ts': "export function total(_prices: number[]): number {\n  throw new Error('not written')\n}\n",
  'src/initials.ts': "export function initials(_name: string): string {\n  throw new Error('not written')\n}\n",
  'test/greet.test.ts': testFile('greet', "greet('Ada')", "'Hello, Ada!'"),
  'test/slug.test.ts': testFile('slug', "slug('Hello World')", "'hello-world'"),
  'test/total.test.ts': testFile('total', 'total([1, 2])', '3'),
  'test/initials.test.ts': testFile('initials', "initials('Ada Lovelace')", "'AL'"),
}

function testFile(name: string, call: string, expected: string): string {
  return [
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    `import { ${name} } from '../src/${name}.ts'`,
    '',
    `test('${name}', () => {`,
    `  assert.equal(${call}, ${expected})`,
    '})',
    '',
  ].join('\n')
}

/** The command behind `npm test`, without the start of npm. */
export const TEST_COMMAND = `"${process.execPath}" --test`

/** Functions that pass the tests of the sample. */
export const SOLUTIONS: Record<string, string> = {
  'src/slug.ts': "export function slug(text: string): string {\n  return text.toLowerCase().replaceAll(' ', '-')\n}\n",
  'src/total.ts':
    'export function total(prices: number[]): number {\n  return prices.reduce((sum, price) => sum + price, 0)\n}\n',
  'src/initials.ts':
    "export function initials(name: string): string {\n  return name.split(' ').map((word) => word[0]).join('')\n}\n",
}

export interface SampleRepository {
  path: string
  git(...args: string[]): string
  /**
   * Begins the branch of a task at the commit of `main`, as a process that was killed may have left it, so that it conflicts with
   * the task before it. `known` is the worktree of a task whose branch exists.
   */
  beginBranch(known: string, name: string): void
  /** A hash over every file of the checkout, `HEAD`, the index, the config and the user's branches. */
  fingerprint(): string
}

/** Makes a folder the sample repository. */
export function writeSampleRepository(path: string, more: Record<string, string> = {}): SampleRepository {
  const repository = openSampleRepository(path)
  const { git } = repository
  git('init', '-q', '-b', 'main')
  git('config', 'user.name', 'Sample')
  git('config', 'user.email', 'sample@example.com')
  for (const [name, text] of Object.entries({ ...FILES, ...more })) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  git('add', '-A')
  git('commit', '-q', '-m', 'Begin')
  return repository
}

function openSampleRepository(path: string): SampleRepository {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: path, encoding: 'utf8' })
  const beginBranch = (known: string, name: string) => {
    const branches = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/troupe').trim().split('\n')
    const branch = branches.find((each) => each.endsWith(`/${known}`))?.replace(known, name)
    if (branch !== undefined && !branches.includes(branch)) git('branch', branch, 'main')
  }
  return { path, git, beginBranch, fingerprint: () => checkoutHash(path, git) }
}

function checkoutHash(path: string, git: (...args: string[]) => string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()) {
    if (/^\.(?:git|troupe)(?:\/|$)/.test(name) || statSync(join(path, name)).isDirectory()) continue
    hash.update(`${name}\0`).update(readFileSync(join(path, name)))
  }
  for (const name of ['HEAD', 'index', 'config']) hash.update(readFileSync(join(path, '.git', name)))
  const refs = git('for-each-ref').split('\n')
  hash.update(refs.filter((line) => !line.includes('refs/heads/troupe/')).join('\n'))
  return hash.digest('hex')
}

/** Replies by agent; each gets the request and the instruction that began its session. */
export type BuildScript = Record<string, (call: ScriptedCall) => ModelReply | Promise<ModelReply>>

export interface ScriptedCall {
  request: ModelRequest
  instruction: string
  turn: number
  /** The task of a developer. */
  task: string
  /** The text of the last message, such as a tool result. */
  last: string
}

export function json(value: unknown): ModelReply {
  return { text: JSON.stringify(value) }
}

export function write(file_path: string, content: string): ModelReply {
  return { calls: [{ name: 'Write', input: { file_path, content } }] }
}

/** One task of a plan for a file of the sample. */
export function planTask(task_id: string, scope: string[], more: Record<string, unknown> = {}) {
  return {
    task_id,
    title: `Write ${scope[0]}`,
    description: `Write the function in ${scope[0]} so that its test passes`,
    priority: 'medium',
    dependencies: [],
    scope,
    acceptance_criteria: [`the test of ${scope[0]} passes`],
    testing_required: false,
    agent: 'developer',
    ...more,
  }
}

/** A developer that replaces the first file of its scope with the solution, then reports. */
export function solve({ turn, instruction }: ScriptedCall): ModelReply {
  const file = Object.keys(SOLUTIONS).find((path) => instruction.includes(`<scope>\n${path}`)) ?? ''
  if (turn === 1) return { calls: [{ name: 'Read', input: { file_path: file } }] }
  if (turn === 2) return write(file, SOLUTIONS[file] ?? '')
  return json({ status: 'completed', summary: `wrote ${file}`, notes: null, blockers: [] })
}

/** A model that answers each agent from the script. */
export function modelFromScript(script: BuildScript): Model & { requests: ModelRequest[] } {
  return functionModel((request) => {
    const { agent } = request.session
    const first = request.messages.find(({ role }) => role === 'user')
    const instruction = (first?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
    const last = (request.messages.at(-1)?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
    const task = /<task>\n([\w-]+):/.exec(instruction)?.[1] ?? ''
    const turn = request.messages.filter(({ role }) => role === 'assistant').length + 1
    const reply = script[agent]
    if (!reply) throw new Error(`no script for ${agent}`)
    return reply({ request, instruction, turn, task, last })
  })
}
