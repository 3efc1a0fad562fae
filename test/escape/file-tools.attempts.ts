import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'vitest'
import type { ToolWorkspace } from './tool-workspace.ts'
import { createToolWorkspace } from './tool-workspace.ts'

const SECRET = 'the-secret-beside-the-workspace'

interface PathAttempt {
  tool: 'Read' | 'Write' | 'Edit' | 'Glob' | 'Grep' | 'LSP'
  path: string | ((fixture: ToolWorkspace) => string)
  prepare?(fixture: ToolWorkspace): void
  /** Reason for no control run with plain file access. */
  noControl?: string
}

const link = (name: string, target: (fixture: ToolWorkspace) => string) => (fixture: ToolWorkspace) =>
  symlinkSync(target(fixture), join(fixture.workspace, name))
const toOutside = link('l', ({ outside }) => outside)
const toSecret = link('s', ({ outside }) => join(outside, 'secret.txt'))
const toMarker = link('m', ({ outside }) => join(outside, 'marker'))
const linkChain = (fixture: ToolWorkspace) => {
  mkdirSync(join(fixture.workspace, 'deep'))
  symlinkSync('../outside', join(fixture.workspace, 'up'))
  symlinkSync('../up', join(fixture.workspace, 'deep', 'l'))
}
const gitLink = (fixture: ToolWorkspace) => {
  mkdirSync(join(fixture.workspace, '.git', 'hooks'), { recursive: true })
  symlinkSync('.git/hooks', join(fixture.workspace, 'hooks'))
}
const noFile = 'not a valid path for the file system'

const PATHS: readonly PathAttempt[] = [
  { tool: 'Read', path: '../outside/secret.txt' },
  { tool: 'Read', path: ({ outside }) => join(outside, 'secret.txt') },
  { tool: 'Read', path: ({ workspace }) => `${workspace}/../outside/secret.txt` },
  { tool: 'Read', path: ({ workspace }) => `${workspace}/./a/../../outside/secret.txt`, prepare: createFolderA },
  { tool: 'Read', path: 'a/../../outside/secret.txt', prepare: createFolderA },
  { tool: 'Read', path: 'l/secret.txt', prepare: toOutside },
  { tool: 'Read', path: 's', prepare: toSecret },
  { tool: 'Read', path: 'deep/l/secret.txt', prepare: linkChain },
  { tool: 'Read', path: ({ outside }) => `/proc/self/root${outside}/secret.txt` },
  { tool: 'Read', path: '../outside/secret.txt\0.txt', noControl: noFile },
  { tool: 'Read', path: '~/../outside/secret.txt', noControl: noFile },
  { tool: 'Read', path: '..\\outside\\secret.txt', noControl: noFile },
  { tool: 'Read', path: ({ outside }) => `file://${outside}/secret.txt`, noControl: noFile },
  { tool: 'Read', path: '.troupe/journal', prepare: writeJournal },
  { tool: 'Read', path: './/.troupe/./journal', prepare: writeJournal },
  { tool: 'Read', path: 'own/journal', prepare: linkTroupeFolder },
  { tool: 'Read', path: '.troupe/output/../journal', prepare: createOutputFolder },
  { tool: 'Write', path: '../outside/marker' },
  { tool: 'Write', path: ({ outside }) => join(outside, 'marker') },
  { tool: 'Write', path: 'l/marker', prepare: toOutside },
  { tool: 'Write', path: 'm', prepare: toMarker },
  { tool: 'Write', path: 'l/new/folders/marker', prepare: toOutside, noControl: 'the folders do not exist' },
  { tool: 'Write', path: 'deep/l/marker', prepare: linkChain },
  { tool: 'Write', path: '.git/hooks/pre-commit', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.GIT/hooks/pre-commit', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.git./config', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.g\u200cit/config', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: 'sub/.git/config', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: 'git~1/config', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: 'hooks/pre-commit', prepare: gitLink, noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.troupe/journal', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.Troupe/journal', noControl: 'the path is inside the workspace' },
  { tool: 'Write', path: '.troupe/output/forged.txt', noControl: 'the path is inside the workspace' },
  { tool: 'Edit', path: 's', prepare: toSecret },
  { tool: 'Edit', path: '../outside/secret.txt' },
  { tool: 'Glob', path: '..' },
  { tool: 'Glob', path: 'l', prepare: toOutside },
  { tool: 'Glob', path: '/', noControl: 'too much to list' },
  { tool: 'Grep', path: '../outside' },
  { tool: 'Grep', path: 'l', prepare: toOutside },
  { tool: 'Grep', path: 's', prepare: toSecret },
  { tool: 'LSP', path: '../outside/secret.ts', noControl: 'reads like the other tools' },
]

function createFolderA({ workspace }: ToolWorkspace): void {
  mkdirSync(join(workspace, 'a'))
}

function writeJournal({ workspace }: ToolWorkspace): void {
  writeFileSync(join(workspace, '.troupe', 'journal'), SECRET)
}

function linkTroupeFolder(fixture: ToolWorkspace): void {
  writeJournal(fixture)
  symlinkSync('.troupe', join(fixture.workspace, 'own'))
}

function createOutputFolder(fixture: ToolWorkspace): void {
  writeJournal(fixture)
  mkdirSync(join(fixture.workspace, '.troupe', 'output'))
}

function toolInput(tool: PathAttempt['tool'], path: string): unknown {
  if (tool === 'Glob') return { pattern: '**', path }
  if (tool === 'Grep') return { pattern: 'secret', path, output_mode: 'content' }
  if (tool === 'LSP') return { operation: 'hover', file_path: path, line: 1 }
  if (tool === 'Write') return { file_path: path, content: 'x' }
  if (tool === 'Edit') return { file_path: path, old_string: 'secret', new_string: 'changed' }
  return { file_path: path }
}

async function runPathAttempt({ tool, path, prepare, noControl }: PathAttempt): Promise<void> {
  using fixture = createToolWorkspace()
  writeFileSync(join(fixture.outside, 'secret.txt'), SECRET)
  prepare?.(fixture)
  const target = typeof path === 'function' ? path(fixture) : path
  const title = `${tool} ${JSON.stringify(target)}`
  const before = snapshotState(fixture)
  const result = await fixture.call(tool, toolInput(tool, target))
  expect.soft(result.success, `${title}: ${result.text}`).toBe(false)
  expect.soft(result.text, title).not.toContain(SECRET)
  expect.soft(snapshotState(fixture), title).toEqual(before)
  if (noControl === undefined)
    expect.soft(reachesWithoutTools(tool, resolve(fixture.workspace, target)), `${title}, without tools`).toBe(true)
}

/** The control run: plain file access reaches the target. */
function reachesWithoutTools(tool: PathAttempt['tool'], path: string): boolean {
  if (tool === 'Write') {
    writeFileSync(path, 'x')
    return existsSync(path)
  }
  if (tool === 'Glob') return readdirSync(path).length > 0
  if (tool === 'Grep' && !path.endsWith('s')) return readFileSync(join(path, 'secret.txt'), 'utf8') === SECRET
  return readFileSync(path, 'utf8') === SECRET
}

/** The state of everything outside and everything protected inside. */
function snapshotState({ outside, workspace }: ToolWorkspace): unknown {
  const names = (folder: string) =>
    existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String).sort() : []
  const troupe = names(join(workspace, '.troupe')).filter((name) => !name.startsWith('seen'))
  const git = ['.git', '.GIT', '.git.', 'git~1', 'sub'].map((name) => names(join(workspace, name)))
  return { outside: names(outside), secret: readFileSync(join(outside, 'secret.txt'), 'utf8'), troupe, git }
}

export const fileToolAttempts: readonly (() => Promise<void>)[] = PATHS.map((attempt) => () => runPathAttempt(attempt))

/** Writes to a hard link of a file outside. */
export async function runHardLinkAttempt(): Promise<{ outside: string; result: string }> {
  using fixture = createToolWorkspace()
  const secret = join(fixture.outside, 'secret.txt')
  writeFileSync(secret, SECRET)
  linkSync(secret, join(fixture.workspace, 'h'))
  await fixture.call('Read', { file_path: 'h' })
  const { text } = await fixture.call('Write', { file_path: 'h', content: 'changed' })
  return { outside: readFileSync(secret, 'utf8'), result: text }
}
