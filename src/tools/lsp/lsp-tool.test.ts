import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace, toolCallContext } from '../../../test/escape/tool-workspace.ts'
import { openSandbox } from '../sandbox/open-sandbox.ts'
import type { LanguageServerCommand } from './find-language-server.ts'
import { findTypescriptServer } from './find-language-server.ts'
import { LanguageServerHost } from './language-server-host.ts'
import { lspTool } from './lsp-tool.ts'

// The sandbox binds real paths only: a clone whose node_modules is a symlink would find nothing there.
const modules = realpathSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)))

/** Parts of this project, as a workspace of its own: real TypeScript that nobody wrote for the test. */
function project(bench: ToolWorkspace): void {
  const source = fileURLToPath(new URL('../..', import.meta.url))
  mkdirSync(join(bench.workspace, 'src'))
  cpSync(join(source, 'errors.ts'), join(bench.workspace, 'src/errors.ts'))
  for (const name of ['tool-errors.ts', 'files/workspace-path.ts', 'files/check-protected.ts']) {
    const target = join(bench.workspace, 'src/tools', name)
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, readFileSync(join(source, 'tools', name)))
  }
  const compilerOptions = {
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    allowImportingTsExtensions: true,
    noEmit: true,
  }
  bench.writeFile(
    'tsconfig.json',
    JSON.stringify({ compilerOptions: { ...compilerOptions, types: [] }, include: ['src'] }),
  )
  bench.writeFile('package.json', '{"type":"module"}')
}

describe('LSP on a real project, in the sandbox', () => {
  let bench: ToolWorkspace
  const ask = (input: unknown) => bench.call('LSP', input)

  beforeAll(() => {
    const compiler = join(modules, 'typescript', 'bin', 'tsc')
    bench = createToolWorkspace({ sandbox: { read: [modules] }, lsp: [process.execPath, compiler, '--lsp', '--stdio'] })
    project(bench)
  })
  afterAll(() => bench[Symbol.dispose]())

  test('TO26 LSP finds definitions, references, hovers and symbols', { timeout: 60_000 }, async () => {
    const place = { file_path: 'src/tools/files/check-protected.ts', line: 1, symbol: 'accessDeniedError' }
    const definition = await ask({ operation: 'definition', ...place })
    expect(definition.text).toMatch(/^src\/tools\/tool-errors\.ts:4:17$/)
    const references = await ask({ operation: 'references', ...place })
    expect(references.text).toContain('src/tools/files/workspace-path.ts:')
    expect(references.text).toContain('src/tools/tool-errors.ts:4:17')
    expect((await ask({ operation: 'hover', ...place })).text).toContain('accessDeniedError(message: string')
    expect((await ask({ operation: 'symbols', file_path: 'src/errors.ts' })).text).toContain('class TroupeError')
    expect((await ask({ operation: 'symbols', query: 'unknownName' })).text).toContain('src/errors.ts')
  })

  test('TO27 diagnostics follow changes of the file and of files it depends on', { timeout: 60_000 }, async () => {
    const file_path = 'src/tools/files/workspace-path.ts'
    expect((await ask({ operation: 'diagnostics', file_path })).text).toBe('[no problems]')
    const errors = readFileSync(join(bench.workspace, 'src/tools/tool-errors.ts'), 'utf8')
    bench.writeFile(
      'src/tools/tool-errors.ts',
      errors.replace('export function accessDeniedError', 'export function renamed'),
    )
    const broken = await ask({ operation: 'diagnostics', file_path })
    expect(broken.text).toMatch(/^src\/tools\/files\/workspace-path\.ts:1:10 error 2\d+: .*accessDeniedError/)
    bench.writeFile('src/tools/tool-errors.ts', errors)
    expect((await ask({ operation: 'diagnostics', file_path })).text).toBe('[no problems]')
    bench.writeFile('src/bad.ts', 'const a: string = 1\n')
    expect((await ask({ operation: 'diagnostics', file_path: 'src/bad.ts' })).text).toContain('error 2322')
  })

  test('TO28 wrong places are told apart', async () => {
    expect((await ask({ operation: 'hover', file_path: 'src/errors.ts' })).text).toContain('line is needed')
    expect((await ask({ operation: 'hover', file_path: 'src/errors.ts', line: 9999 })).text).toContain('no line 9999')
    const symbol = { operation: 'hover', file_path: 'src/errors.ts', line: 1, symbol: 'nowhere' }
    expect((await ask(symbol)).text).toContain('does not stand in line 1')
    expect((await ask({ operation: 'hover', file_path: 'tsconfig.json', line: 1 })).text).toContain('neither')
    expect((await ask({ operation: 'diagnostics' })).text).toContain('needs file_path')
    symlinkSync(bench.outside, join(bench.workspace, 'out'))
    const outside = await ask({ operation: 'hover', file_path: 'out/a.ts', line: 1 })
    expect(outside.text).toContain('outside the workspace')
  })
})

describe('LSP with servers that misbehave', () => {
  const scripts: Record<string, string> = {
    hangs: 'setInterval(() => {}, 1000)',
    ends: 'process.stderr.write("no licence"); process.exit(3)',
    babbles: 'setInterval(() => process.stdout.write("x".repeat(10000)), 10)',
    lies: 'process.stdout.write("Content-Length: 99999999999\\r\\n\\r\\n"); setInterval(() => {}, 1000)',
  }

  async function asked(command: LanguageServerCommand) {
    using bench = createToolWorkspace({ sandbox: 'none' })
    bench.writeFile('a.ts', 'export const a = 1\n')
    const { workspace } = bench.toolbox
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
    const servers = new LanguageServerHost({ workspace, sandbox, sleep, command, limits })
    const tool = lspTool(workspace, servers)
    const input = { operation: 'hover', file_path: 'a.ts', line: 1, symbol: 'a' } as never
    const first = await Promise.resolve(tool.execute(input, toolCallContext())).catch((error: Error) => error.message)
    const second = await Promise.resolve(tool.execute(input, toolCallContext())).catch((error: Error) => error.message)
    return [first, second]
  }

  test('TO29 a server that hangs, ends, babbles or lies is an error, and is started anew', {
    timeout: 30_000,
  }, async () => {
    const said = (name: string) => asked([process.execPath, '-e', scripts[name] ?? ''])
    expect(await said('hangs')).toEqual(
      [1, 2].map(() => expect.stringContaining('did not answer initialize within 1500')),
    )
    expect(await said('ends')).toEqual([1, 2].map(() => expect.stringContaining('it ended: no licence')))
    expect(await said('babbles')).toEqual([1, 2].map(() => expect.stringContaining('does not speak')))
    expect(await said('lies')).toEqual([1, 2].map(() => expect.stringContaining('no reasonable length')))
  })

  test('TO81 a call that is given up does not wait for the server to start', async () => {
    using bench = createToolWorkspace({ sandbox: 'none' })
    bench.writeFile('a.ts', 'export const a = 1\n')
    const { workspace } = bench.toolbox
    const sandbox = openSandbox({ workspace, sandbox: 'none', hosts: [] })
    // Nobody's time is ever up: only giving up ends the wait.
    const sleep = (_: number, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const command: LanguageServerCommand = [process.execPath, '-e', scripts.hangs ?? '']
    const servers = new LanguageServerHost({ workspace, sandbox, sleep, command })
    const giving = new AbortController()
    const waits = [servers.ready(giving.signal), servers.ready(giving.signal)]
    giving.abort(new Error('given up'))
    const ends = await Promise.allSettled(waits)
    expect(ends).toMatchObject([1, 2].map(() => ({ status: 'rejected', reason: { message: 'given up' } })))
    servers.stop()
  })

  test("TO68 what a command left in place of the compiler's description is not waited for, nor read without end", () => {
    using bench = createToolWorkspace({ sandbox: 'none' })
    const compiler = join(bench.workspace, 'node_modules/typescript')
    bench.writeFile('node_modules/typescript/bin/tsc', '')
    const server = () => findTypescriptServer(bench.toolbox.workspace)
    bench.writeFile('node_modules/typescript/package.json', '{"version":"7.0.1"}')
    expect(server().slice(1)).toEqual([join(compiler, 'bin/tsc'), '--lsp', '--stdio'])
    bench.writeFile('node_modules/typescript-language-server/lib/cli.mjs', '')
    for (const make of ['mkfifo package.json', 'ln -s /dev/zero package.json', 'mkdir package.json']) {
      execFileSync('sh', ['-c', `rm -rf package.json; ${make}`], { cwd: compiler })
      expect(server().at(-2), make).toContain('typescript-language-server')
    }
  })

  test('TO30 a missing server is told with what to install', async () => {
    using bench = createToolWorkspace({ sandbox: 'none' })
    bench.writeFile('a.ts', 'export const a = 1\n')
    const path = process.env.PATH
    process.env.PATH = '/nowhere'
    try {
      const answer = await bench.call('LSP', { operation: 'diagnostics', file_path: 'a.ts' })
      expect(answer.text).toContain('install typescript 7')
    } finally {
      process.env.PATH = path
    }
    const [missing] = await asked(['/nowhere/server'])
    expect(missing).toContain('the language server failed')
  })
})
