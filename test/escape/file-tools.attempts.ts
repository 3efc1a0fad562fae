import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import type { ToolWorkspace } from './tool-workspace.ts'
import { createToolWorkspace } from './tool-workspace.ts'

const SECRET = 'the-secret-beside-the-workspace'

interface PathAttempt {
  tool: 'Read' | 'Write' | 'Edit' | 'Glob' | 'Grep' | 'LSP'
  path: string | ((bench: ToolWorkspace) => string)
  prepare?(bench: ToolWorkspace): void
  /** Why doing the same without the tool shows nothing. */
  noControl?: string
}

const link = (name: string, target: (bench: ToolWorkspace) => string) => (bench: ToolWorkspace) =>
  symlinkSync(target(bench), join(bench.workspace, name))
const toOutside = link('l', ({ outside }) => outside)
const toSecret = link('s', ({ outside }) => join(outside, 'secret.txt'))
const toMarker = link('m', ({ outside }) => join(outside, 'marker'))
const chain = (bench: ToolWorkspace) => {
  mkdirSync(join(bench.workspace, 'deep'))
  symlinkSync('../outside', join(bench.workspace, 'up'))
  symlinkSync('../up', join(bench.workspace, 'deep', 'l'))
}
const gitLink = (bench: ToolWorkspace) => {
  mkdirSync(join(bench.workspace, '.git', 'hooks'), { recursive: true })
  symlinkSync('.git/hooks', join(bench.workspace, 'hooks'))
}
const noFile = 'the file system takes it for another name, or not at all'

const PATHS: readonly PathAttempt[] = [
  { tool: 'Read', path: '../outside/secret.txt' },
  { tool: 'Read', path: ({ outside }) => join(outside, 'secret.txt') },
  { tool: 'Read', path: ({ workspace }) => `${workspace}/../outside/secret.txt` },
  { tool: 'Read', path: ({ workspace }) => `${workspace}/./a/../../outside/secret.txt`, prepare: makeA },
  { tool: 'Read', path: 'a/../../outside/secret.txt', prepare: makeA },
  { tool: 'Read', path: 'l/secret.txt', prepare: toOutside },
  { tool: 'Read', path: 's', prepare: toSecret },
  { tool: 'Read', path: 'deep/l/secret.txt', prepare: chain },
  { tool: 'Read', path: ({ outside }) => `/proc/self/root${outside}/secret.txt` },
  { tool: 'Read', path: '../outside/secret.txt\0.txt', noControl: noFile },
  { tool: 'Read', path: '~/../outside/secret.txt', noControl: noFile },
  { tool: 'Read', path: '..\\outside\\secret.txt', noControl: noFile },
  { tool: 'Read', path: ({ outside }) => `file://${outside}/secret.txt`, noControl: noFile },
  { tool: 'Read', path: '.troupe/journal', prepare: journal },
  { tool: 'Read', path: './/.troupe/./journal', prepare: journal },
  { tool: 'Read', path: 'own/journal', prepare: aliased },
  { tool: 'Read', path: '.troupe/output/../journal', prepare: outputs },
  { tool: 'Write', path: '../outside/marker' },
  { tool: 'Write', path: ({ outside }) => join(outside, 'marker') },
  { tool: 'Write', path: 'l/marker', prepare: toOutside },
  { tool: 'Write', path: 'm', prepare: toMarker },
  { tool: 'Write', path: 'l/new/folders/marker', prepare: toOutside, noControl: 'the folders are not there' },
  { tool: 'Write', path: 'deep/l/marker', prepare: chain },
  { tool: 'Write', path: '.git/hooks/pre-commit', noControl: 'a name inside' },
  { tool: 'Write', path: '.GIT/hooks/pre-commit', noControl: 'a name inside' },
  { tool: 'Write', path: '.git./config', noControl: 'a name inside' },
  { tool: 'Write', path: '.g\u200cit/config', noControl: 'a name inside' },
  { tool: 'Write', path: 'sub/.git/config', noControl: 'a name inside' },
  { tool: 'Write', path: 'git~1/config', noControl: 'a name inside' },
  { tool: 'Write', path: 'hooks/pre-commit', prepare: gitLink, noControl: 'a name inside' },
  { tool: 'Write', path: '.troupe/journal', noControl: 'a name inside' },
  { tool: 'Write', path: '.Troupe/journal', noControl: 'a name inside' },
  { tool: 'Write', path: '.troupe/output/forged.txt', noControl: 'a name inside' },
  { tool: 'Edit', path: 's', prepare: toSecret },
  { tool: 'Edit', path: '../outside/secret.txt' },
  { tool: 'Glob', path: '..' },
  { tool: 'Glob', path: 'l', prepare: toOutside },
  { tool: 'Glob', path: '/', noControl: 'too much to list' },
  { tool: 'Grep', path: '../outside' },
  { tool: 'Grep', path: 'l', prepare: toOutside },
  { tool: 'Grep', path: 's', prepare: toSecret },
  { tool: 'LSP', path: '../outside/secret.ts', noControl: 'read like the others' },
]

function makeA({ workspace }: ToolWorkspace): void {
  mkdirSync(join(workspace, 'a'))
}

function journal({ workspace }: ToolWorkspace): void {
  writeFileSync(join(workspace, '.troupe', 'journal'), SECRET)
}

function aliased(bench: ToolWorkspace): void {
  journal(bench)
  symlinkSync('.troupe', join(bench.workspace, 'own'))
}

function outputs(bench: ToolWorkspace): void {
  journal(bench)
  mkdirSync(join(bench.workspace, '.troupe', 'output'))
}

function inputFor(tool: PathAttempt['tool'], path: string): unknown {
  if (tool === 'Glob') return { pattern: '**', path }
  if (tool === 'Grep') return { pattern: 'secret', path, output_mode: 'content' }
  if (tool === 'LSP') return { operation: 'hover', file_path: path, line: 1 }
  if (tool === 'Write') return { file_path: path, content: 'x' }
  if (tool === 'Edit') return { file_path: path, old_string: 'secret', new_string: 'changed' }
  return { file_path: path }
}

async function runPathAttempt({ tool, path, prepare, noControl }: PathAttempt): Promise<void> {
  using bench = createToolWorkspace()
  writeFileSync(join(bench.outside, 'secret.txt'), SECRET)
  prepare?.(bench)
  const given = typeof path === 'function' ? path(bench) : path
  const what = `${tool} ${JSON.stringify(given)}`
  const before = snapshotState(bench)
  const answer = await bench.call(tool, inputFor(tool, given))
  expect.soft(answer.success, `${what}: ${answer.text}`).toBe(false)
  expect.soft(answer.text, what).not.toContain(SECRET)
  expect.soft(snapshotState(bench), what).toEqual(before)
  if (noControl === undefined)
    expect.soft(reachesWithoutTools(tool, resolve(bench.workspace, given)), `${what}, by hand`).toBe(true)
}

/** The same without our tools: it does reach the place. */
function reachesWithoutTools(tool: PathAttempt['tool'], path: string): boolean {
  if (tool === 'Write') {
    writeFileSync(path, 'x')
    return existsSync(path)
  }
  if (tool === 'Glob') return readdirSync(path).length > 0
  if (tool === 'Grep' && !path.endsWith('s')) return readFileSync(join(path, 'secret.txt'), 'utf8') === SECRET
  return readFileSync(path, 'utf8') === SECRET
}

/** Everything outside and everything protected inside. */
function snapshotState({ outside, workspace }: ToolWorkspace): unknown {
  const names = (folder: string) =>
    existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String).sort() : []
  const own = names(join(workspace, '.troupe')).filter((name) => !name.startsWith('seen'))
  const git = ['.git', '.GIT', '.git.', 'git~1', 'sub'].map((name) => names(join(workspace, name)))
  return { outside: names(outside), secret: readFileSync(join(outside, 'secret.txt'), 'utf8'), own, git }
}

export const fileToolAttempts: readonly (() => Promise<void>)[] = PATHS.map((attempt) => () => runPathAttempt(attempt))

/** A hard link is just a name: content that was shared before stays readable, and is never changed elsewhere. */
export async function runHardLinkAttempt(): Promise<{ outside: string; answer: string }> {
  using bench = createToolWorkspace()
  const secret = join(bench.outside, 'secret.txt')
  writeFileSync(secret, SECRET)
  linkSync(secret, join(bench.workspace, 'h'))
  await bench.call('Read', { file_path: 'h' })
  const { text } = await bench.call('Write', { file_path: 'h', content: 'changed' })
  return { outside: readFileSync(secret, 'utf8'), answer: text }
}
