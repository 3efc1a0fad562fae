import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace, toolCallContext } from '../../../test/escape/tool-workspace.ts'
import { isAlive } from '../../../test/support/mcp-test-server.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'
import type { LanguageServerCommand } from './find-language-server.ts'
import { findTypescriptServer } from './find-language-server.ts'
import { LanguageServerHost } from './language-server-host.ts'
import { lspTool } from './lsp-tool.ts'

// The sandbox binds real paths only: a clone whose node_modules is a symlink would find nothing there.
const modules = realpathSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)))

const searcher = { files: async () => [], search: async () => ({ files: [], incomplete: false }) }

/** Copies files of this project into the workspace, as real TypeScript. */
function copyProject(fixture: ToolWorkspace): void {
  const source = fileURLToPath(new URL('../..', import.meta.url))
  mkdirSync(join(fixture.workspace, 'src'))
  cpSync(join(source, 'errors.ts'), join(fixture.workspace, 'src/errors.ts'))
  for (const name of ['tool-errors.ts', 'files/check-protected.ts']) {
    const target = join(fixture.workspace, 'src/tools', name)
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, readFileSync(join(source, 'tools', name)))
  }
  const user =
    "import { accessDeniedError } from '../tool-errors.ts'\n\nexport const error = accessDeniedError('', '')\n"
  fixture.writeFile('src/tools/files/error-user.ts', user)
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    allowImportingTsExtensions: true,
    noEmit: true,
  }
  fixture.writeFile(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [] }, include: ['src'] }),
  )
  fixture.writeFile('package.json', '{"type":"module"}')
}

describe('LSP on a real project, in the sandbox', () => {
  let fixture: ToolWorkspace
  const query = (input: unknown) => fixture.call('LSP', input)

  // Not in `beforeAll`, where no test could be skipped.
  beforeEach(() => {
    fixture ??= createProject()
  })
  afterAll(() => fixture?.[Symbol.dispose]())

  function createProject(): ToolWorkspace {
    const compiler = join(modules, 'typescript', 'bin', 'tsc')
    const project = createToolWorkspace({
      sandbox: { read: [modules] },
      lsp: [process.execPath, compiler, '--lsp', '--stdio'],
    })
    copyProject(project)
    return project
  }

  test('TO26 LSP returns definitions, references, hover texts and symbols', async () => {
    const position = { file_path: 'src/tools/files/check-protected.ts', line: 1, symbol: 'accessDeniedError' }
    const definition = await query({ operation: 'definition', ...position })
    expect(definition.text).toMatch(/^src\/tools\/tool-errors\.ts:4:17$/)
    const references = await query({ operation: 'references', ...position })
    expect(references.text).toContain('src/tools/files/error-user.ts:')
    expect(references.text).toContain('src/tools/tool-errors.ts:4:17')
    expect((await query({ operation: 'hover', ...position })).text).toContain('accessDeniedError(message: string')
    expect((await query({ operation: 'symbols', file_path: 'src/errors.ts' })).text).toContain('class TroupeError')
    expect((await query({ operation: 'symbols', query: 'unknownName' })).text).toContain('src/errors.ts')
  })

  test('TO27 diagnostics reflect changes of the file and of its dependencies', async () => {
    const file_path = 'src/tools/files/error-user.ts'
    expect((await query({ operation: 'diagnostics', file_path })).text).toBe('[no diagnostics]')
    const errors = readFileSync(join(fixture.workspace, 'src/tools/tool-errors.ts'), 'utf8')
    fixture.writeFile(
      'src/tools/tool-errors.ts',
      errors.replace('export function accessDeniedError', 'export function renamed'),
    )
    const broken = await query({ operation: 'diagnostics', file_path })
    expect(broken.text).toMatch(/^src\/tools\/files\/error-user\.ts:1:10 error 2\d+: .*accessDeniedError/)
    fixture.writeFile('src/tools/tool-errors.ts', errors)
    expect((await query({ operation: 'diagnostics', file_path })).text).toBe('[no diagnostics]')
    fixture.writeFile('src/bad.ts', 'const a: string = 1\n')
    expect((await query({ operation: 'diagnostics', file_path: 'src/bad.ts' })).text).toContain('error 2322')
  })

  test('TO28 a missing line, an unknown symbol and an unsupported file have distinct errors', async () => {
    expect((await query({ operation: 'hover', file_path: 'src/errors.ts' })).text).toContain('`line` is required')
    expect((await query({ operation: 'hover', file_path: 'src/errors.ts', line: 9999 })).text).toContain(
      '`line` 9999 is past the end',
    )
    const symbol = { operation: 'hover', file_path: 'src/errors.ts', line: 1, symbol: 'nowhere' }
    expect((await query(symbol)).text).toContain('is not in line 1')
    expect((await query({ operation: 'hover', file_path: 'tsconfig.json', line: 1 })).text).toContain(
      'is not a TypeScript or JavaScript file',
    )
    expect((await query({ operation: 'diagnostics' })).text).toContain('`file_path` is required')
    symlinkSync(fixture.outside, join(fixture.workspace, 'out'))
    const outside = await query({ operation: 'hover', file_path: 'out/a.ts', line: 1 })
    expect(outside.text).toContain('outside the workspace')
  })
})

describe('LSP with misbehaving servers', () => {
  const scripts: Record<string, string> = {
    hangs: 'setInterval(() => {}, 1000)',
    exits: 'process.stderr.write("no licence"); process.exit(3)',
    floods: 'setInterval(() => process.stdout.write("x".repeat(10000)), 10)',
    oversized: 'process.stdout.write("Content-Length: 99999999999\\r\\n\\r\\n"); setInterval(() => {}, 1000)',
  }

  async function callTwice(command: LanguageServerCommand) {
    using fixture = createToolWorkspace({ sandbox: 'none' })
    fixture.writeFile('a.ts', 'export const a = 1\n')
    const { workspace } = fixture.toolbox
    const sandbox = openSandbox({ workspace, sandbox: 'none', hosts: [] })
    const limits = { start_ms: 1500, request_ms: 500 }
    const sleep = (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          reject(signal.reason)
        })
      })
    const servers = new LanguageServerHost({ workspace, sandbox, searcher, sleep, command, limits })
    const tool = lspTool(workspace, servers)
    const input = { operation: 'hover', file_path: 'a.ts', line: 1, symbol: 'a' } as never
    const first = await Promise.resolve(tool.execute(input, toolCallContext())).catch((error: Error) => error.message)
    const second = await Promise.resolve(tool.execute(input, toolCallContext())).catch((error: Error) => error.message)
    return [first, second]
  }

  test('TO29 a server that hangs, exits or violates the protocol is an error, and is restarted', async () => {
    const results = (name: string) => callTwice([process.execPath, '-e', scripts[name] ?? ''])
    expect(await results('hangs')).toEqual(
      [1, 2].map(() => expect.stringContaining('no response to initialize within 1500')),
    )
    expect(await results('exits')).toEqual([1, 2].map(() => expect.stringContaining('it exited: no licence')))
    expect(await results('floods')).toEqual(
      [1, 2].map(() => expect.stringContaining('is not the Language Server Protocol')),
    )
    expect(await results('oversized')).toEqual([1, 2].map(() => expect.stringContaining('invalid Content-Length')))
  })

  test('TO81 an aborted call does not wait for the server to start, and no server stays behind', async () => {
    using fixture = createToolWorkspace({ sandbox: 'none' })
    fixture.writeFile('a.ts', 'export const a = 1\n')
    const { workspace } = fixture.toolbox
    const sandbox = openSandbox({ workspace, sandbox: 'none', hosts: [] })
    // No timeout ever expires: only the abort ends the wait.
    const sleep = (_: number, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const pids = join(fixture.workspace, 'pids')
    const script = `require('fs').appendFileSync(${JSON.stringify(pids)}, process.pid + '\\n'); ${scripts.hangs}`
    const command: LanguageServerCommand = [process.execPath, '-e', script]
    const servers = new LanguageServerHost({ workspace, sandbox, searcher, sleep, command })
    const abort = new AbortController()
    const waits = [servers.ready(abort.signal), servers.ready(abort.signal)]
    const started = () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [])
    await expect.poll(started).toHaveLength(1)
    abort.abort(new Error('aborted by the test'))
    const outcomes = await Promise.allSettled(waits)
    expect(outcomes).toMatchObject(
      [1, 2].map(() => ({ status: 'rejected', reason: { message: 'aborted by the test' } })),
    )
    servers.stop()
    for (const pid of started()) await expect.poll(() => isAlive(pid)).toBe(false)
    expect(started()).toHaveLength(1)
  })

  test('TO68 a package.json that is a pipe, a device or a folder neither blocks nor exhausts memory', () => {
    using fixture = createToolWorkspace({ sandbox: 'none' })
    const compiler = join(fixture.workspace, 'node_modules/typescript')
    fixture.writeFile('node_modules/typescript/bin/tsc', '')
    const server = () => findTypescriptServer(fixture.toolbox.workspace)
    fixture.writeFile('node_modules/typescript/package.json', '{"version":"7.0.1"}')
    expect(server().slice(1)).toEqual([join(compiler, 'bin/tsc'), '--lsp', '--stdio'])
    fixture.writeFile('node_modules/typescript-language-server/lib/cli.mjs', '')
    for (const make of ['mkfifo package.json', 'ln -s /dev/zero package.json', 'mkdir package.json']) {
      execFileSync('sh', ['-c', `rm -rf package.json; ${make}`], { cwd: compiler })
      expect(server().at(-2), make).toContain('typescript-language-server')
    }
  })

  test('TO86 without a language server the error says what to install', async () => {
    using fixture = createToolWorkspace({ sandbox: 'none' })
    fixture.writeFile('a.ts', 'export const a = 1\n')
    const path = process.env.PATH
    process.env.PATH = '/nowhere'
    try {
      const result = await fixture.call('LSP', { operation: 'diagnostics', file_path: 'a.ts' })
      expect(result.text).toContain('install typescript 7')
    } finally {
      process.env.PATH = path
    }
    const [missing] = await callTwice(['/nowhere/server'])
    expect(missing).toContain('the language server failed')
  })
})
