// Code blocks are checked in a folder outside the repository: Node does not strip types below node_modules, and files
// that a program writes (`.troupe/`) must not land in the clone. Line numbers stay those of the Markdown page.
import { spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { repositoryRoot } from '../support/source-file.ts'
import { timeLimit } from '../support/time-limit.ts'
import type { CodeBlock } from './markdown.ts'

export type ProcessResult = { status: number | null; output: string }

export function createWorkspace(): { folder: string; close: () => void } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-docs-')))
  symlinkSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'), 'junction')
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  return { folder, close: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Runs a block as after `npm install troupe`, without network and without the API keys of the caller. */
export async function runBlock(folder: string, block: CodeBlock): Promise<ProcessResult> {
  const file = writeBlock(folder, block)
  const offline = pathToFileURL(join(repositoryRoot, 'test/docs/offline-troupe.ts')).href
  const env = { PATH: process.env.PATH ?? '', HOME: folder, NO_COLOR: '1' }
  const cwd = mkdtempSync(join(folder, 'run-'))
  return await runProcess(process.execPath, ['--import', offline, file], { cwd, env, timeout: timeLimit(60_000) })
}

/** Type-checks all blocks in one compiler run and returns only errors in the blocks themselves. */
export async function typeProblems(folder: string, blocks: readonly CodeBlock[]): Promise<string[]> {
  const files = blocks.map((block) => writeBlock(folder, block))
  const paths = {
    troupe: [join(repositoryRoot, 'src/index.ts')],
    'troupe/*': [join(repositoryRoot, 'src/entries/*.ts')],
    'troupe/server': [join(repositoryRoot, 'src/surfaces/http/index.ts')],
    'troupe/testing': [join(repositoryRoot, 'src/testing/index.ts')],
  }
  const compilerOptions = { noEmit: true, noUnusedLocals: false, noUnusedParameters: false, paths }
  const config = { extends: join(repositoryRoot, 'tsconfig.json'), compilerOptions, include: [], files }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc')
  const { status, output } = await runProcess(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
  })
  const lines = output.split('\n').filter((line) => /^([^\s(]+\.md\.\d+\.ts\(|error TS|tsconfig\.json)/.test(line))
  const compilerFailed = status !== 0 && !/error TS\d+/.test(output)
  return compilerFailed ? [output] : lines.map((line) => line.replace(/\.(\d+)\.ts\((\d+),\d+\)/, ':$2'))
}

function writeBlock(folder: string, { path, line, body }: CodeBlock): string {
  const file = join(folder, `${path.replaceAll('/', '__')}.${line}.ts`)
  writeFileSync(file, `${'\n'.repeat(line)}${body}${/^(import|export)\b/m.test(body) ? '' : 'export {}\n'}`)
  return file
}

type Options = { cwd: string; env?: Record<string, string>; timeout?: number }

function runProcess(command: string, args: readonly string[], options: Options): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', reject)
    child.on('close', (status) => resolve({ status, output }))
  })
}
